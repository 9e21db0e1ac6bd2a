"""Restores a tree to the disk: plans the changes, checks them, and carries them out."""

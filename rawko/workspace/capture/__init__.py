"""Captures the workspace as a tree: which files count, which have changed, and the mirror of the captured files."""

"""Conversations of a folder: runs that follow each other, what they have used, files that can be named in them."""

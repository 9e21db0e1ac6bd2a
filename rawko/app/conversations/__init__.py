"""Conversations of a folder: runs that follow each other, their usage, and the files that a task can name."""

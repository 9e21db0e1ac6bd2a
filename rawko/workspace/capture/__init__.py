"""From the disk to a tree: which files count, what has changed, and the mirror of what is known."""

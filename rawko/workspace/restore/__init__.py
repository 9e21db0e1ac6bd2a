"""From a tree to the disk: what has to change, whether it may, and doing it."""

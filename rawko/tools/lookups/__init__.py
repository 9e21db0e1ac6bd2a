"""Read-only tools about the run itself: the changes of files, and the whole of texts that were shown truncated."""

"""Read-only tools about the run itself: the changes of files, and whole texts that were shown cut."""

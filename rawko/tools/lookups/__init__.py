"""Read-only tools that ask about the run itself: what changed in the files, and the whole of a text that was cut."""

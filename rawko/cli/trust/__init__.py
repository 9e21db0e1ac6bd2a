"""Trust on the terminal: the question about a project, and the command `rawko trust`."""

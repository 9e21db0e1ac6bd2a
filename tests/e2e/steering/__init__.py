"""A person steers runs: cancel, override, follow, repeat, and continue with the next task."""

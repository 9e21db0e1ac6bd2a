"""What `rawko run` shows while a run works: `plain` for pipes, `screen` for a terminal."""

"""The live output of `rawko run`: `plain` for pipes, `screen` for a terminal."""

"""The state of one machine, and the functions that move it from one stable configuration to the next."""

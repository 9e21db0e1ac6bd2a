"""The views of steps and runs that every face shows."""

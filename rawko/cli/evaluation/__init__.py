"""`rawko eval`: runs tasks with checks several times, with output for the terminal."""

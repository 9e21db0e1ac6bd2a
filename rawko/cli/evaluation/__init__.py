"""`rawko eval`: tasks with checks, tried several times, told on the terminal."""

"""`rawko explore` and explorations among the runs."""

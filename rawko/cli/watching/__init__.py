"""`rawko watch` and `rawko run --tui`: the terminal view of a run."""

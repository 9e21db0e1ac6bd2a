"""Time, tokens, prices and rates of runs."""

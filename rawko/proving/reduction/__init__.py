"""Explores regions of parallel states that share nothing one by one, and combines the verdicts on them."""

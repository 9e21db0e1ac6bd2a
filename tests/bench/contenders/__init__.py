"""Who takes part: each builds the neutral chart in its own way, as its documentation shows it."""

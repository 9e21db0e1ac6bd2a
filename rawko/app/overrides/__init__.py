"""Manual overrides: what a person asks of a run that is not over, beside cancelling it and answering its questions."""

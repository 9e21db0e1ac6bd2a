"""Regions of parallel states that share nothing, explored one by one; verdicts that hold of all of them together."""

"""Checks of what a run is about to deliver: commands run in its folder, and evidence for a claim that it is done."""

"""Finds whole texts of a run that were shown cut."""

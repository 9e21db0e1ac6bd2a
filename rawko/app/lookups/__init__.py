"""Lookups in a run's own history: its snapshots, and whole texts that were shown cut."""

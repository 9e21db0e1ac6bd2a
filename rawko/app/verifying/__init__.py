"""Recorded runs checked by monitors: what never must be, and what must come."""

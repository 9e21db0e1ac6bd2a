"""Drawings with transitions as rows in the box of their state: the most readable form if many lines would cross."""

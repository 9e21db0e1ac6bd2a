"""Drawings whose transitions stand as rows in the box of their state: what reads best where many lines would cross."""

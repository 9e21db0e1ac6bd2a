"""Writes diagrams as text or pixels: one module per format."""

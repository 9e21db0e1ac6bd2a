"""Reads a node tree as drafts, and drafts as a `Chart`, by the tables of `grammar`. Private to `rawko.chart`."""

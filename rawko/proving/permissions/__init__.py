"""Which tools agents reach in which state of a chart, and whether untrusted content gets to one that writes outside."""

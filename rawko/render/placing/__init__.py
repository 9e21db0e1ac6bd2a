"""Positions of boxes, lines and texts: the layout engine, its input, and the repair of its drawings."""

"""Places for boxes, lines and texts: the layout engine, what it is told, and the repair of its drawings."""

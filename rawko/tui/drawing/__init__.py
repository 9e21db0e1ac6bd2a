"""Draws the parts of the view as lines of styled text: data in, lines out, without widgets or files."""

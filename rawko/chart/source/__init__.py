"""Reads the text of a chart as a tree of nodes with line and column; nothing here knows what a chart is."""

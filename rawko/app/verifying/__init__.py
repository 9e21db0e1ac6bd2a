"""Checks recorded runs with monitors: forbidden behaviour, and behaviour that has to follow."""

"""Lanes: runs of agents side by side, each in a folder of its own that begins with the files of the run above it."""

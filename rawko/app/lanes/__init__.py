"""Lanes: agents' runs side by side, each in a folder of its own that starts with the files of the parent run."""

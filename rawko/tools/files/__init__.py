"""Tools on the files of the workspace, and the path walk that confines them to it."""

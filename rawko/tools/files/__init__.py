"""Tools on the files of the workspace, and the confined way to them."""

"""`rawko eval`, and its tasks under Inspect."""

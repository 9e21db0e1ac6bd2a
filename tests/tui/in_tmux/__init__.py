"""The terminal view on a real terminal: typed, stopped, killed."""

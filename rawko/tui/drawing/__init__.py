"""What the view shows as lines of styled text: data in, lines out; no widget and no file is touched."""

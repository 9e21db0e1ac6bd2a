"""What monitors hear of the macrosteps of a chart."""

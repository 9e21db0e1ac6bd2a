"""The events that monitors receive during the macrosteps of a chart."""

"""Settings and the composition root."""

"""A run that follows one that has ended: what the new run takes over, and the event that carries it."""

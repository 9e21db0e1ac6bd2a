"""A run that goes on where another has ended: what the new one takes over, and the event that carries it."""

"""A run put together from its settings."""

"""Commands on recorded runs."""

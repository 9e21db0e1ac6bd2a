"""Commands that make, show, name and remove runs."""

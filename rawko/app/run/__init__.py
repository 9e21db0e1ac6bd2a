"""A run: opens its parts from its settings, drives its machine to the end, and writes the report."""

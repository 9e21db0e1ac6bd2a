"""Counts the usage of models and enforces a budget."""

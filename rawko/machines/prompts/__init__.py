"""Prompt templates of the machines: read from files, checked, and rendered; data never becomes prompt structure."""

"""Secrets of a run: the key of its prompts' marks, and the values that are masked in its texts."""

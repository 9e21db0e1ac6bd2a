"""Defects of settings: found in all files with their places, and reported together."""

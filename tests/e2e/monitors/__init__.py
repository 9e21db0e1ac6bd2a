"""Monitors beside runs, and on recorded ones."""

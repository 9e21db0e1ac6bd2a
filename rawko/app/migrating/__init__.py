"""Runs whose charts have changed, brought into today's: what would become of each, why not, and doing it."""

"""Graphs of numbered states: cycles, shortest paths, and cycles that budgets end."""

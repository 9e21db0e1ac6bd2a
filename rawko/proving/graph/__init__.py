"""Graphs of numbered states: cycles, shortest ways, and cycles that budgets end."""

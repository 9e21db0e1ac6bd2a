"""Explores a chart together with a monitor that watches it in production."""

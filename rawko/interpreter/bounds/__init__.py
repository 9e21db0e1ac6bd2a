"""Machines that do not come to rest: how it is found out, and how it is told."""

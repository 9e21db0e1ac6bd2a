"""Commands for the authors of charts: check, format, compare, draw, simulate, test."""

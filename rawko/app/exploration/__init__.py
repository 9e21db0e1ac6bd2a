"""Explorations of terminal programs: start, drive, limit, record, report, remove."""

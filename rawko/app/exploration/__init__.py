"""Explorations of terminal programs: opened, driven, bounded, recorded, reported, removed."""

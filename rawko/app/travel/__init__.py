"""Moves runs between machines: a store of packs holds the files of a run that another machine resumes or reads."""

"""Whole runs: the command line, real tools and workspace, and a model behind real HTTP."""

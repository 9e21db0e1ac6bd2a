"""Evaluation: an agent attempts tasks with checks, several times each; results are counted, and a stop can be
resumed."""

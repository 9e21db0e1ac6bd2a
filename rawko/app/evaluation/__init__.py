"""Evaluation: an agent attempts tasks with checks, several times each; can be stopped and resumed."""

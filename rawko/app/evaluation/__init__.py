"""Evaluation: tasks with checks, tried several times by an agent, counted; resumed where it was stopped."""

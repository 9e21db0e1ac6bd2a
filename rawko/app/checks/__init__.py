"""Checks of a run's files before it delivers them: commands that must pass, and evidence that an agent's task is
done."""

"""Manual overrides of an open run: force an agent, skip a step, retry at once, tell the arbiter something."""

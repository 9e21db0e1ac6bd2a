"""What the steps of an agent's run, its lanes and its time travel cost."""

"""What the inspector and the terminal view cost."""

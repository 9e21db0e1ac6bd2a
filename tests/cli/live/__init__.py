"""What a terminal shows while a run works."""

"""What a run keeps to itself: the key of its prompts' marks."""

"""The machines that rawko ships, one package each, and what they share: prompts."""

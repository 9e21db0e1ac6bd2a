"""The machines that rawko ships, one package each, and the code that they share (agents' input and result, prompts)."""

"""The arbiter: its inputs (inputs, history, errors), its prompts (prompt), its answers (decision)."""

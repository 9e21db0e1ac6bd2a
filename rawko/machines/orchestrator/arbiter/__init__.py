"""The arbiter: what it is told (inputs, history, errors), how it is asked (prompt), what it answers (decision)."""

"""What a bounds file makes known: how invocations end, with which output, and what functions read of it."""

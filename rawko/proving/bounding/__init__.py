"""Known results of invocations, from a bounds file: how they end, with which output, and what functions read of it."""

"""Data that crosses the machine's border: values, context, events, updates, effects, steps."""

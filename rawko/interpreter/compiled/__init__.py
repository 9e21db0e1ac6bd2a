"""What is worked out once per chart and bindings: structure, functions, tables, plans. It holds no machine's state."""

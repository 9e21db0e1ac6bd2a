"""Data computed once per chart and bindings: structure, functions, tables, plans. It holds no state of a machine."""

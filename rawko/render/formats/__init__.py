"""A placed diagram, or a chart, as text or pixels: one module per format."""

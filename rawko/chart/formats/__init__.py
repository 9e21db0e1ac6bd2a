"""Import and export of charts: plain sismic YAML, XState JSON, SCXML. Losses of a conversion are reported."""

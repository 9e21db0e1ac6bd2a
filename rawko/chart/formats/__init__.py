"""Other notations of charts, in and out: plain sismic YAML, XState JSON, SCXML. What is lost on the way is told."""

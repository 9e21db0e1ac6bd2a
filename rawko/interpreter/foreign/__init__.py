"""Code and listeners of others: sismic's meta-events and evaluators, SCXML's data model. Loaded only where a chart
asks for them."""

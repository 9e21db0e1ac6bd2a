"""The two drivers of a walk, the worker that runs one under a lease, and the choice between them."""

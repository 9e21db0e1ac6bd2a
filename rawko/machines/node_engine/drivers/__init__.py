"""The two drivers of a walk, the choice between them, and the worker that runs a driver under a lease."""

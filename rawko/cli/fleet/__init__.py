"""Commands of the fleet: submit, worker, queue, limits, and access to its runs from any folder."""

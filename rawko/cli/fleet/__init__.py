"""Commands of the fleet: submit, worker, queue, and what concerns its runs from any folder."""

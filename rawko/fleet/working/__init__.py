"""A worker of the fleet: it claims tasks, and runs each in a process of its own."""

"""A worker of the fleet: claims tasks, and runs each in its own process."""

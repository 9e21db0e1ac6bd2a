"""One machine: its state, its macrostep, its event queue, its snapshot, and why it did what it did."""

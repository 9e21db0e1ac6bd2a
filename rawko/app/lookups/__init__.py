"""What may be asked about a run's own past: its snapshots, and the whole of texts that were shown cut."""

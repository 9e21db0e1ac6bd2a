"""What a person looks up in a run's own past: whole texts that were shown cut."""

"""What a project may do: bounded reading of its files, the list of what it requests, the user's stored decisions."""

"""Detection of machines that never come to rest, and the errors that name their loop."""

"""The session: a conversation in a folder, on a terminal. Each task is a run of its own."""

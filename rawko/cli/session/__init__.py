"""The session: a conversation in a folder, on a terminal. Each task is a separate run."""

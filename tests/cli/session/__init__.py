"""The session, typed in tmux as a person types it; its parts with values."""

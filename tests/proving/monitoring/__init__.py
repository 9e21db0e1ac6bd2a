"""Charts and monitors explored together."""

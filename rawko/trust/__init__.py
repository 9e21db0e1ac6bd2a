"""What a project may do: its files read within bounds, what it asks for listed, the user's decisions about it kept."""

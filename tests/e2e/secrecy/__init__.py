"""Keys, hostile texts, and the rights of files in the state folder."""

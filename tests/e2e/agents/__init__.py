"""Agents as a person runs them: conversations, called agents, debates, gauntlets, machines of the user's own."""

"""Agents that an agent calls with the tool `task`: the caller's guards and actions, and the called machine's input."""

"""Shared code of providers over HTTP: one bounded call, and failures of servers and connections as codes."""

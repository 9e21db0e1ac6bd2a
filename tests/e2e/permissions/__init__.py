"""Approvals, rules, questions to people, the sandbox, and tools of MCP servers."""

"""The gate in front of all tools: rules, approvals, verdicts."""

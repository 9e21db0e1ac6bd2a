"""Prompts of the machines: templates from files, checked, and rendered from data that never becomes their structure."""

"""Findings for other programs: SARIF, JUnit."""

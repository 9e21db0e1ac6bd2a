"""What was found, for other programs: SARIF, JUnit."""

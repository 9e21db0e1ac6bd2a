"""Results of contracts, for other programs (JUnit's XML) and for readers (an HTML page)."""

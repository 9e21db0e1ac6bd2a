"""What contracts came to, for other programs and for readers: JUnit's XML, a page."""

"""Stock sismic's documentation, examples and test suite, run with rawko's interpreter in place of sismic's own."""

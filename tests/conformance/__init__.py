"""Public conformance suites, run against the interpreter."""

"""Finds every reachable state of a system, fast: steps are computed once per region."""

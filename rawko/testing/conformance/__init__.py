"""Conformance suites: one module per port, with numbered contracts. They need no test framework.

Pass each contract a harness that makes your adapter; a contract that your adapter breaks raises AssertionError.
"""

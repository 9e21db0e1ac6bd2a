"""Conformance suites: one module per port, its contracts numbered. They need no test framework.

Give a suite's contracts a harness that makes your adapter; a contract that does not hold raises AssertionError.
"""

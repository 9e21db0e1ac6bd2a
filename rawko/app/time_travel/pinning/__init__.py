"""Turns a recorded step into a scenario of a contract, and fits the scenario to a chart."""

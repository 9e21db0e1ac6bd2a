"""Tests generated from a chart: paths through it to follow in another program, and a state machine for hypothesis."""

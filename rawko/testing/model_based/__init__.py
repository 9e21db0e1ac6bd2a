"""Tests that a chart makes by itself: ways through it to take in another program, and a machine for hypothesis."""

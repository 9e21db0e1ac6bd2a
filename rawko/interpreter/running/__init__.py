"""The public class `Interpreter`, with snapshots, restores, listeners, contracts, replay and explanations of one
machine.
"""

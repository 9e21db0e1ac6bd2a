"""Runs of many machines: a queue of tasks in PostgreSQL, workers that take them, and what is known of each run.

A run's durability is its journal's. The queue (`rawko.fleet.engine`, with DBOS behind it) only says whose turn it is.
"""

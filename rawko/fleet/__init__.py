"""Runs on many machines: a queue of tasks in PostgreSQL, workers that claim and run them, and a record of each task.

A run's journal makes it durable. The queue (`rawko.fleet.engine`, implemented with DBOS) only decides which run is
claimed next.
"""

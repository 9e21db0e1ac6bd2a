"""Snapshots of a run in a store that other machines can reach: sent as git packs during the run, fetched elsewhere."""

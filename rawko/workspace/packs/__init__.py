"""Snapshots of a run in a store that other machines reach: sent as git packs while it works, fetched elsewhere."""

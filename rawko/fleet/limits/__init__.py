"""Limits shared by the runs of a fleet: calls with one key of a provider, and the budget of a tenant."""

"""What the runs of a fleet may use together: calls with one key of a provider, and the budget of a tenant."""

"""`rawko prove` as it is typed."""

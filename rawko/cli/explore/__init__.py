"""`rawko explore`, and explorations in the commands on runs."""

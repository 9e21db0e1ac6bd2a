"""Every state of a system that can be reached: found fast, region by region."""

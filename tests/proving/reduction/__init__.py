"""Regions that share nothing, explored one by one."""

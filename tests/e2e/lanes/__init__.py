"""Lanes, parallel plans and races: runs side by side in folders of their own."""

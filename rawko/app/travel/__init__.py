"""Runs that begin on one machine and go on, or are looked at, on another: their files by way of a store of packs."""

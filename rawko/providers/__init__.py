"""Adapters of the Provider port. They do not import each other; import the module of the one that you need.

`scripted` answers from a scenario file; `anthropic_api` calls a Messages-API server. This module imports nothing, so
that scripted runs never load the SDK.
"""

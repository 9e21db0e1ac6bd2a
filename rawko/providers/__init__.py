"""Adapters of the Provider port. Siblings know nothing of each other; import the module of the one you need.

`scripted` answers from a scenario file; `anthropic_api` asks a Messages-API server. Nothing is imported here, so
that the scripted path never loads the SDK.
"""

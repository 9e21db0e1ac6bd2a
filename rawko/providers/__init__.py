"""Adapters of the Provider port. They do not import each other; import the module of the one that you need.

`anthropic` and `chat_completions` call servers, `scripted` answers from a scenario file, `cassette` from a recording.
This module imports nothing, so that scripted runs never load an SDK.
"""

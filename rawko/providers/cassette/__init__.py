"""Cassettes: requests to a model and its answers, recorded into a text file and played back without a model.

`wire` records and plays at the SDK's middleware (raw bytes of the answers), `port` at the Provider port (for any other
provider). `file` defines and reads the format, `writer` writes it; `requests` compares requests, `tape` finds the
answer, `cleaning` removes secrets and absolute paths. This module imports nothing, so scripted runs load no SDK.
"""

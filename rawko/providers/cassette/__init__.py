"""Cassettes: what a model was asked and answered, recorded into a text file and played back without a model.

`wire` records and plays at the SDK's middleware (raw bytes of the answers), `port` at the Provider port (any other
provider). `file` is the format and reads it, `writer` writes it; `requests` compares requests, `tape` finds the answer,
`cleaning` keeps secrets and absolute paths out. Nothing is imported here, so that the scripted path loads no SDK.
"""

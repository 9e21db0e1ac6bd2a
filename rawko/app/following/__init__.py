"""Following a run from another process: its journal's rows, and the model's text as it arrives (S3-092).

Pieces of text have no row in the journal. Beside it, a run that somebody follows writes them into a file of its own.
"""

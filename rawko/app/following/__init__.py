"""Follows a run from another process: the rows of its journal, and the model's text as it arrives (S3-092).

Pieces of text have no journal rows. A run that has a follower writes them into a separate file.
"""

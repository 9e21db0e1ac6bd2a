"""Runs as all user interfaces show them, as frozen data: a view per journal row, and a view per run.

The command line, the terminal view and the web pages draw these views, and derive nothing else from the journal.
`reading` reads them; `rawko.app.following` reports when there are new rows.
"""

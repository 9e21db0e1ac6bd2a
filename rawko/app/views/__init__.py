"""What every face shows of runs, as frozen data: one view per step of the journal, one per run.

The command line, the terminal view and the web pages draw these views and add nothing of their own. `reading` reads
them from the journal, `following` in `rawko.app` tells when there is more to read.
"""

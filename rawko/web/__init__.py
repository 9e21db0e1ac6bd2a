"""The inspector: runs and charts as pages, served on loopback (`rawko serve`) or written as one file (`rawko report`).

The pages hold no logic of runs: they show what `rawko.app` returns, and call it.
"""

"""The inspector: runs and charts as pages, served on loopback (`rawko serve`) or written as one file (`rawko report`).

The pages have no logic of runs: they show the results of `rawko.app` and call its functions.
"""

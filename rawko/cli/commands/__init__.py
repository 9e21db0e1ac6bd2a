"""The commands: each has its options in one of the modules here; what it does is in the modules of `rawko.cli`, loaded
when it runs. `table` lists them all, and `application` makes what typer runs.
"""

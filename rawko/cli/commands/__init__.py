"""Declares the commands: the functions here have the options; the code is in other modules of `rawko.cli`, imported
when a command runs. `table` lists all commands, and `application` makes the typer application.
"""

"""How processes are started and ended: default signals for every child, and all that a command starts ended with it.

`launching` makes command lines of the script `launcher`, which runs in the new process; `family` finds processes by
ancestry, session or mark; `keys` takes keys out of this process's environment block.
"""

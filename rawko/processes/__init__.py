"""How rawko starts and ends processes: children get default signals, and all descendants of a command end with it.

`launching` builds command lines for the script `launcher`, which runs in the new process. `family` finds processes by
ancestor, session or mark. `keys` removes API keys from this process's environment. `private` makes files and folders
that only their owner may read.
"""

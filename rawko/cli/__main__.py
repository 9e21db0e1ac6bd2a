"""`python -m rawko.cli` runs `rawko`; `rawko.__main__` explains the change of the import path."""

import sys

if not sys.flags.safe_path and sys.path:
    del sys.path[0]

from rawko.cli import main

main()

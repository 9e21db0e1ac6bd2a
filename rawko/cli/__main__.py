"""`python -m rawko.cli` is `rawko`; see `rawko.__main__` about the import path."""

import sys

if not sys.flags.safe_path and sys.path:
    del sys.path[0]

from rawko.cli import main

main()

"""`python -m rawko` runs the command `rawko`.

`-m` puts the current folder first on the import path; this module removes it again, so that a file of that folder never
replaces a module of Python's own. Modules that Python imported before line one may still come from there; `rawko` and
`python -P -m rawko` never import from there.
"""

import sys

if not sys.flags.safe_path and sys.path:
    del sys.path[0]

from rawko.cli import main

if __name__ == "__main__":  # a worker's processes import it under another name
    main()

"""`python -m rawko` is `rawko`. The current folder, which `-m` puts first on the import path, is taken off it again: no
module that lies there may stand in for one of Python's own. (Before this line Python itself has imported from there;
`rawko`, or `python -P -m rawko`, never does.)
"""

import sys

if not sys.flags.safe_path and sys.path:
    del sys.path[0]

from rawko.cli import main

if __name__ == "__main__":  # a worker's processes import it under another name
    main()

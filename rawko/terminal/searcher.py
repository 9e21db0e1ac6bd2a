"""Script that runs in a process that can be killed: searches a text for regular expressions.

Usage: python -I -S searcher.py, with {"patterns": [...], "text": "..."} on standard input. It writes a line for each
pattern, in order, as soon as the result is known: 1 if the pattern is found, else 0. `^` and `$` match at lines. It
imports nothing of rawko.
"""

from __future__ import annotations

import json
import re
import sys


def main() -> None:
    asked = json.load(sys.stdin)
    for pattern in asked["patterns"]:
        found = re.search(pattern, asked["text"], re.MULTILINE) is not None
        sys.stdout.write(f"{int(found)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

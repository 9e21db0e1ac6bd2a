"""Run in a process of its own, which can be killed: search a text for regular expressions. Imports nothing of rawko.

Usage: python -I -S searcher.py, with {"patterns": [...], "text": "..."} on standard input. For each pattern, in order,
a line is written as soon as it is known: 1 where it is found, else 0. `^` and `$` match at lines.
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

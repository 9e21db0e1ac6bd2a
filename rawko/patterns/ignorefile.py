"""One .gitignore file as a whole: decides whether a path is ignored. Snapshots, glob and grep all use it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from rawko.patterns.wildmatch import Pattern, parse


class Level:
    """The compiled patterns of one file. A later line overrides an earlier one."""

    def __init__(self, content: bytes) -> None:
        self._rules = [(pattern, re.compile(pattern.expression)) for pattern in reversed([*parse(content)])]
        self._any_name = _union(pattern for pattern, _ in self._rules if not pattern.is_path)
        self._any_path = _union(pattern for pattern, _ in self._rules if pattern.is_path)

    def decide(self, name: bytes, path: bytes, is_folder: bool) -> bool | None:
        """Whether the file's patterns ignore a path.

        Args:
            name: The last component of the path.
            path: Relative to the folder of the file; ends in `name`.

        Returns:
            True: ignored. False: included again by a `!` line. None: no line matches.
        """
        if not (_fits(self._any_name, name) or _fits(self._any_path, path)):
            return None
        for pattern, expression in self._rules:
            if (is_folder or not pattern.only_folders) and expression.fullmatch(path if pattern.is_path else name):
                return not pattern.includes
        return None


def _union(patterns: Iterable[Pattern]) -> re.Pattern[bytes] | None:
    expressions = [b"(?:" + pattern.expression + b")" for pattern in patterns]
    return re.compile(b"|".join(expressions)) if expressions else None


def _fits(union: re.Pattern[bytes] | None, text: bytes) -> bool:
    return union is not None and union.fullmatch(text) is not None


@lru_cache(maxsize=1024)
def level(content: bytes) -> Level:
    """The compiled patterns of a file's content; cached, because successive captures read the same files."""
    return Level(content)

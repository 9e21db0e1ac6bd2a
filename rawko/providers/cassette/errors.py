"""What is wrong with a cassette file."""

from __future__ import annotations

from pathlib import Path


class CassetteError(ValueError):
    """A cassette that cannot be read or written.

    Attributes:
        path: The file.
        line: Where in it, from 1; 0 where it is about the file as a whole.
        problem: What was found, and what would be accepted.
    """

    def __init__(self, path: Path, problem: str, *, line: int = 0) -> None:
        super().__init__(f"{path}{f':{line}' if line else ''}: {problem}")
        self.path, self.line, self.problem = path, line, problem

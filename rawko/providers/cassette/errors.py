"""Errors of cassette files."""

from __future__ import annotations

from pathlib import Path


class CassetteError(ValueError):
    """A cassette that cannot be read or written.

    Attributes:
        path: The file.
        line: Line of the defect, from 1; 0 where it concerns the whole file.
        problem: The defect, and what would be accepted.
    """

    def __init__(self, path: Path, problem: str, *, line: int = 0) -> None:
        super().__init__(f"{path}{f':{line}' if line else ''}: {problem}")
        self.path, self.line, self.problem = path, line, problem

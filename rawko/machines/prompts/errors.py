"""Errors about a template or its data."""

from __future__ import annotations

from difflib import get_close_matches


class PromptError(Exception):
    """A template that cannot be used, or data that does not fit its template.

    Attributes:
        where: Path of the file, with the line where it is known.
    """

    def __init__(self, where: str, message: str) -> None:
        super().__init__(f"{where}: {message}")
        self.where = where
        self.message = message


def nearest(name: str, accepted: frozenset[str] | set[str]) -> str:
    """The end of a message about an unknown name: the nearest accepted name, and all accepted names."""
    near = get_close_matches(name[:200], sorted(accepted), 1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"{hint}; accepted: {', '.join(map(repr, sorted(accepted))) or 'none'}"

"""Errors of scenario files; their defects and words are those of every other file (`rawko.vocabulary.documents`)."""

from __future__ import annotations

from rawko.vocabulary.documents import DocumentError


class ScenarioError(DocumentError):
    """A scenario cannot be used. `defects` holds every defect that was found, in the file's order."""


class ScenarioNotFoundError(ScenarioError):
    """No scenario has the name, or no file is at the path. `name` is what was asked for; there are no defects."""

    def __init__(self, name: str, message: str) -> None:
        ValueError.__init__(self, message)
        self.defects = ()
        self.name = name

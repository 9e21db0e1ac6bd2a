"""Errors of scenario files; defects have the form of those in other files (`rawko.vocabulary.documents`)."""

from __future__ import annotations

from rawko.vocabulary.documents import DocumentError


class ScenarioError(DocumentError):
    """A scenario cannot be used. `defects` has all defects that were found, in the file's order."""


class ScenarioNotFoundError(ScenarioError):
    """No scenario has this name, or the path has no file. `name` is the requested name; `defects` is empty."""

    def __init__(self, name: str, message: str) -> None:
        ValueError.__init__(self, message)
        self.defects = ()
        self.name = name

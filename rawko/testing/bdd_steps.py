"""Step definitions of pytest-bdd that match all of rawko's phrases. Imported only when the first contract is collected.

pytest-bdd stores them in this module's globals; each contract's module copies them from here.
"""

from __future__ import annotations

from typing import Any

from pytest_bdd import given, then, when
from pytest_bdd.parsers import StepParser

from rawko.testing.scene import Scene
from rawko.testing.steps.book import BOOK


class AnyPhrase(StepParser):
    """Matches every phrase of one kind; other steps are left to the project's own definitions."""

    def __init__(self, kind: str) -> None:
        super().__init__(f"any {kind} phrase of rawko")
        self._kind = kind

    def is_matching(self, name: str) -> bool:
        return BOOK.find(self._kind, name.removesuffix(":")) is not None

    def parse_arguments(self, name: str) -> dict[str, Any]:
        return {"rawko_text": name}


@given(AnyPhrase("given"))
def rawko_given(rawko_scene: Scene, rawko_text: str, docstring: str | None = None, datatable: Any = None) -> None:
    __tracebackhide__ = True
    rawko_scene.run("given", rawko_text, docstring, datatable)


@when(AnyPhrase("when"))
def rawko_when(rawko_scene: Scene, rawko_text: str, docstring: str | None = None, datatable: Any = None) -> None:
    __tracebackhide__ = True
    rawko_scene.run("when", rawko_text, docstring, datatable)


@then(AnyPhrase("then"))
def rawko_then(rawko_scene: Scene, rawko_text: str, docstring: str | None = None, datatable: Any = None) -> None:
    __tracebackhide__ = True
    rawko_scene.run("then", rawko_text, docstring, datatable)

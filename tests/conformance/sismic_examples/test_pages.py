"""The snippets of sismic's documentation do and print what it says, on our interpreter."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from tests.conformance.fetch import NotFetched, sismic_folder
from tests.conformance.sismic_examples.engine import in_place_of_sismic
from tests.conformance.sismic_examples.pages import DIFFERENCES, Group, all_groups, run_group

TIMED = "time.rst realclock"
"""Asks for less than 10 ms between two lines; the clock is tried in `test_examples`."""
WAITS = "time.rst clock"
"""Sleeps and prints what a clock says then: right within twenty attempts, also where the machine is busy."""
GROUPS = 11


@cache
def docs_or_reason() -> Path | str:
    try:
        return sismic_folder() / "docs"
    except NotFetched as error:
        return str(error)


def found_groups() -> list[Group]:
    docs = docs_or_reason()
    return [] if isinstance(docs, str) else [group for group in all_groups(docs) if group.id != TIMED]


def docs_folder() -> Path:
    docs = docs_or_reason()
    if isinstance(docs, str):
        pytest.skip(f"sismic's documentation is not here: {docs}")
    return docs


def test_pages_are_whole() -> None:
    assert len(all_groups(docs_folder())) == GROUPS


@pytest.mark.parametrize("group", found_groups(), ids=lambda group: group.id)
def test_group(group: Group) -> None:
    outcome = None
    for _ in range(20 if group.id == WAITS else 1):
        with in_place_of_sismic():
            outcome = run_group(group, docs_folder())
        if outcome is None:
            break
    assert (outcome is not None) == (group.id in DIFFERENCES), outcome

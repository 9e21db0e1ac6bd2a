"""SCION's suite: every case whose expressions need no JavaScript engine ends in the states that it expects."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from tests.conformance import scion
from tests.conformance.fetch import NotFetched, scion_folder

NEEDS_ENGINE = {"error/error": "functions with local variables, and the line and column of an error"}
EXPECTED_CASES = 127


@cache
def folder_or_reason() -> Path | str:
    try:
        return scion_folder()
    except NotFetched as error:
        return str(error)


def found_cases() -> list[scion.Case]:
    """Cases at collection: the suite is fetched the first time, and from then on cached."""
    folder = folder_or_reason()
    return [] if isinstance(folder, str) else list(scion.cases(folder))


CASES = found_cases()


def test_suite_is_whole() -> None:
    folder = folder_or_reason()
    if isinstance(folder, str):
        pytest.skip(f"SCION's suite is not here: {folder}")
    assert len(CASES) == EXPECTED_CASES


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_case(case: scion.Case) -> None:
    if case.id in NEEDS_ENGINE:
        pytest.skip(f"needs a JavaScript engine: {NEEDS_ENGINE[case.id]}")
    assert scion.run(case) is None

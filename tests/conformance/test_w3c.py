"""The W3C's SCXML suite: every document ends in `pass`, but for a closed list with reasons."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from tests.conformance import w3c
from tests.conformance.fetch import NotFetched, w3c_folder
from tests.conformance.table import TOPICS, topic_of

EXPECTED_CASES = 193
JAVASCRIPT = "asks in JavaScript"
FAILS = {
    "optional-201": "expects what comes over the network before an event that it sends itself without a delay",
    **{f"optional-{number}": JAVASCRIPT for number in (446, 509, 518, 519, 520)},
    "optional-567": "compares a text that came over the network with a number, which only JavaScript calls equal",
}


@cache
def folder_or_reason() -> Path | str:
    try:
        return w3c_folder()
    except NotFetched as error:
        return str(error)


def found_cases() -> list[w3c.Case]:
    folder = folder_or_reason()
    return [] if isinstance(folder, str) else list(w3c.cases(folder))


CASES = found_cases()


def test_suite_is_whole_and_every_document_has_a_topic() -> None:
    folder = folder_or_reason()
    if isinstance(folder, str):
        pytest.skip(f"the W3C's suite is not here: {folder}")
    assert len(CASES) == EXPECTED_CASES
    assert {topic_of(case.number) for case in CASES} == set(TOPICS)
    assert sum(len(numbers.split()) for numbers in TOPICS.values()) == EXPECTED_CASES


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_document(case: w3c.Case) -> None:
    outcome = w3c.run(case)
    if case.id in FAILS:
        assert outcome is not None, f"{case.id} passes now"
    else:
        assert outcome is None

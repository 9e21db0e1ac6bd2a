"""docs/requirements.md is whole and true: every id of the specification once, and every test that it names exists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "requirements.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| ((?:S3|A3|S6|AL|NE)-\d{3}|C-\d{2}) \| (\w+) \| (.*) \|$", PAGE, re.MULTILINE)
COUNTS = {"S3": 55, "A3": 14, "S6": 32, "AL": 27, "NE": 17, "C": 67}
"""Ids of each document of the specification."""

_TEST = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")
_SCENARIO = re.compile(r"`(statecharts/\w+\.feature)`: ([^;|]+)")


def named_tests() -> Iterator[tuple[str, str, str]]:
    for identifier, _, text in ROWS:
        for file, function in _TEST.findall(text):
            yield identifier, file, function


def test_every_id_stands_once() -> None:
    ids = [identifier for identifier, _, _ in ROWS]
    assert len(ids) == len(set(ids))
    found = {document: sum(i.split("-")[0] == document for i in ids) for document in COUNTS}
    assert found == COUNTS


def test_the_specification_explains_the_same_ids_in_the_same_order() -> None:
    page = (ROOT / "docs" / "specification.md").read_text(encoding="utf-8")
    explained = re.findall(r"^\| ((?:S3|A3|S6|AL|NE)-\d{3}|C-\d{2}) \|", page, re.MULTILINE)
    assert explained == [identifier for identifier, _, _ in ROWS]


@pytest.mark.parametrize(("identifier", "state", "text"), ROWS)
def test_a_state_is_one_of_three_and_what_is_built_names_its_proof(identifier: str, state: str, text: str) -> None:
    assert state in ("built", "partly", "open")
    assert text.strip()
    if state == "built":
        assert "`" in text or "docs/" in text, f"{identifier} names nothing that shows it"


@pytest.mark.parametrize(("identifier", "file", "function"), list(named_tests()))
def test_the_tests_named_exist(identifier: str, file: str, function: str) -> None:
    path = ROOT / file
    assert path.is_file(), f"{identifier}: there is no {file}"
    if function:
        source = path.read_text(encoding="utf-8")
        assert re.search(rf"def {function}\b", source), f"{identifier}: {file} has no {function}"


def test_the_scenarios_named_exist() -> None:
    for identifier, _, text in ROWS:
        for file, title in _SCENARIO.findall(text):
            wanted = re.sub(r"\s*\([^)]*\)\s*$", "", title.strip())
            titles = re.findall(r"^\s*Scenario(?: Outline)?: (.*)$", (ROOT / file).read_text("utf-8"), re.MULTILINE)
            assert any(found.startswith(wanted) for found in titles), f"{identifier}: {file} has no {wanted!r}"

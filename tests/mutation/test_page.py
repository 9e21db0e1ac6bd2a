"""The page of `make mutants`, and the table of defects that are equivalent."""

from __future__ import annotations

import pytest
import yaml

from tests.mutation.equivalents import LISTED, Key, key, reasons
from tests.mutation.operators import places
from tests.mutation.page import Outcome, page
from tests.requirements.page import ROOT


def test_the_page_names_what_was_not_found_and_what_is_equivalent() -> None:
    lost, same = "rawko/runtime/a.py:3 bound: `a < b` -> `(a <= b)`", "rawko/runtime/a.py:9 constant: `1` -> `2`"
    outcome = Outcome(["runtime"], 3, 201, [(same, "only a cache")], [lost])
    text = page(outcome)
    assert "199 of 200 found (99.5 %), 1 more are equivalent." in text
    assert f"- {lost}\n" in text
    assert f"- {same}: only a cache\n" in text
    assert outcome.share == 0.995


def test_a_page_without_survivors_has_no_empty_heading() -> None:
    text = page(Outcome(["runtime"], 3, 10, [], []))
    assert "10 of 10 found (100.0 %)." in text
    assert "##" not in text


def test_no_defect_is_listed_twice() -> None:
    assert len(reasons()) == len(yaml.safe_load(LISTED.read_text(encoding="utf-8")))


@pytest.mark.parametrize("listed", list(reasons()), ids=lambda listed: f"{listed[0]}: {listed[1][:60]}")
def test_a_listed_defect_fits_the_tree_and_says_why(listed: Key) -> None:
    path, line, _ = listed
    source = (ROOT / path).read_text(encoding="utf-8")
    fitting = [place for place in places(source) if key(path, source, place) == listed]
    assert fitting, f"{path} has no such line any more, or no such defect: {line}"
    assert len({place.line for place in fitting}) == 1, f"{path} has this line more than once: {line}"
    assert len(reasons()[listed].split()) >= 5

"""The page of `make mutants`."""

from __future__ import annotations

from tests.mutation.__main__ import _line, draw, found_before
from tests.mutation.page import Outcome, page
from tests.requirements.tree import Trial


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


def test_the_page_says_what_a_former_run_has_found() -> None:
    text = page(Outcome(["runtime"], 3, 10, [], [], 8))
    assert "10 of 10 found (100.0 %)." in text
    assert "Of these, 8 were found by an earlier run over the same lines" in text


def test_what_a_run_has_printed_as_found_is_read_back() -> None:
    found, lost, untried = draw(["runtime"], 3, 0)
    printed = [_line(found, Trial(1, (), 12.3, "")), _line(lost, Trial(0, (), 400.0, "")), _line(untried, None)]
    assert found_before("\n".join(["known after 3 s: 9 tests", *printed, "1 of 3 found (33.3 %)."])) == {str(found)}

"""Defects that are listed as equivalent: each is still a defect of the code as it is, and only that one is meant."""

from __future__ import annotations

import pytest
import yaml

from tests.mutation.equivalents import LISTED, Key, key, reasons
from tests.mutation.operators import places
from tests.requirements.page import ROOT


def test_no_defect_is_listed_twice() -> None:
    assert len(reasons()) == len(yaml.safe_load(LISTED.read_text(encoding="utf-8")))


@pytest.mark.parametrize("listed", list(reasons()), ids=lambda listed: f"{listed[0]}: {listed[1]}")
def test_a_listed_defect_fits_the_tree_and_says_why(listed: Key) -> None:
    path, function, line, _ = listed
    source = (ROOT / path).read_text(encoding="utf-8")
    fitting = [place for place in places(source) if key(path, source, place) == listed]
    assert fitting, f"{path} has no such line any more, or no such defect: {function}, {line}"
    assert len(fitting) == 1, f"{path} has this line more than once: {function}, {line}"
    assert len(reasons()[listed].split()) >= 5


def test_a_defect_is_known_by_its_function() -> None:
    source = "def a(x):\n    return x < 1\n\n\ndef b(x):\n    return x < 1\n\n\nLIMIT = 3\n"
    found = {key("m.py", source, place) for place in places(source) if place.kind in ("bound", "constant")}
    assert found == {
        ("m.py", "a", "return x < 1", "(x <= 1)"),
        ("m.py", "a", "return x < 1", "2"),
        ("m.py", "b", "return x < 1", "(x <= 1)"),
        ("m.py", "b", "return x < 1", "2"),
        ("m.py", "", "LIMIT = 3", "4"),
    }

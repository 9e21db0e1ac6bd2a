"""sismic's own suite on our interpreter: all of it passes, but for the rules that differ on purpose."""

from __future__ import annotations

import pytest

from tests.conformance.fetch import NotFetched, sismic_folder
from tests.conformance.sismic_examples.suite import DIFFERENCES, failures, run_suite

TESTS = 146


@pytest.mark.thorough
def test_suite() -> None:
    try:
        sismic_folder()
    except NotFetched as error:
        pytest.skip(f"sismic's suite is not here: {error}")
    outcomes = run_suite("rawko")
    assert len(outcomes) >= TESTS
    failed = failures(outcomes)
    assert {name: failed[name] for name in failed.keys() - DIFFERENCES.keys()} == {}
    assert DIFFERENCES.keys() - failed.keys() == set()  # what passes is no difference

"""Every built row has a mutant that fits the tree, and a trial tells found, survived and broken apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.requirements.__main__ import node_ids, verdict
from tests.requirements.mutants import Edit, Mutant, MutantError, load_mutants, mutated, shipped_texts
from tests.requirements.page import Row, rows
from tests.requirements.tree import Tree

MUTANTS, UNBREAKABLE = load_mutants()
ROWS = {row.id: row for row in rows()}
TEXTS = shipped_texts()


@pytest.mark.parametrize("row", [row for row in rows() if row.state == "built"], ids=lambda row: row.id)
def test_a_built_row_has_a_mutant_or_says_why_not(row: Row) -> None:
    if row.id in UNBREAKABLE:
        assert not row.tests(), f"{row.id} names tests, so a mutant must fail them"
        assert not row.scenarios()
        return
    assert any(mutant.id == row.id for mutant in MUTANTS), f"no mutant of {row.id}"
    assert node_ids(row), f"{row.id} names no test"


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.name)
def test_a_mutant_fits_the_tree(mutant: Mutant) -> None:
    assert mutant.id in ROWS
    assert mutant.breaks.endswith(".")
    assert mutated(mutant, TEXTS)


def edit_of(find: str, replace: str, file: str = "") -> Mutant:
    return Mutant("S3-018", "A sentence.", (Edit(find, replace, file),), 1)


@pytest.mark.parametrize(
    ("find", "replace", "file", "said"),
    [
        ("max_iterations: Bound = 50", "max_iterations: Bound = 50", "", "changes nothing"),
        ("no such text at all", "x", "", "stands in no file"),
        ("from __future__ import annotations", "", "", "must stand in one place"),
        ("max_iterations: Bound = 50", "max_iterations: Bound = (", "", "no longer parses"),
        ("max_iterations: Bound = 50", "x", "guards.py", "stands in no file"),
    ],
)
def test_a_mutant_that_does_not_fit_is_refused(find: str, replace: str, file: str, said: str) -> None:
    with pytest.raises(MutantError, match=said):
        mutated(edit_of(find, replace, file), TEXTS)


def test_an_entry_with_other_keys_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text("- {id: S3-018, find: a, replaces: b}\n", encoding="utf-8")
    with pytest.raises(MutantError, match=r"x\.yaml: S3-018: keys are"):
        load_mutants(tmp_path)


@pytest.mark.thorough
def test_found_survived_and_broken_are_told_apart(tmp_path: Path) -> None:
    """One tree, real pytest: a defect that a test finds, one that none finds, one that does not even load."""
    tree = Tree(tmp_path)
    tests = node_ids(ROWS["S3-018"])

    def tried(find: str, replace: str) -> str:
        return verdict(tree.try_(mutated(edit_of(find, replace), TEXTS), tests))

    bound = "max_iterations: Bound = 50"
    assert tried(bound, "max_iterations: Bound = 5") == "fails"
    assert tried(bound, "max_iterations: Bound = 50  # as before") == "SURVIVES"
    assert tried(bound, "max_iterations: Bound = fifty") == "DOES NOT LOAD"
    assert verdict(tree.try_({}, tests)) == "SURVIVES", "the tree must be as before"

"""Mutants of requirements: for each built row one or more stated defects that a test named by the row must find.

A table is a YAML file per document of the specification beside this module. An entry of it:

    - id: S3-018
      breaks: A task that sets no limit ends after five agent runs.
      find: "max_iterations: Bound = 50"
      replace: "max_iterations: Bound = 5"
      in: context.py        # only where the text stands in several files; a bare file name
      everywhere: true      # replace it wherever it stands in that file, for a name that stands often
      also: [...]           # further edits {find, replace, in} of the same mutant

`find` occurs exactly once in the shipped files, wherever they lie. A row that no edit of a shipped file can break is
listed as

    - id: S3-082
      unbreakable: mypy --strict, which `make types` runs, is its proof.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.requirements.page import ROOT

TABLES = Path(__file__).parent
SHIPPED = ("rawko", "statecharts", "prompts")
_REQUIRED = frozenset({"id", "breaks", "find", "replace"})
_OPTIONAL = frozenset({"in", "everywhere", "also"})
SUFFIXES = frozenset({".py", ".yaml", ".j2", ".feature"})


@dataclass(frozen=True)
class Edit:
    """One replacement of text in one shipped file."""

    find: str
    replace: str
    file: str = ""
    is_everywhere: bool = False


@dataclass(frozen=True)
class Mutant:
    """One stated defect.

    Attributes:
        id: Of the row that it breaks.
        breaks: What a user would lose, in a sentence.
        edits: All of them together are the defect.
        number: Place among the mutants of the row, from 1.
    """

    id: str
    breaks: str
    edits: tuple[Edit, ...]
    number: int

    @property
    def name(self) -> str:
        return f"{self.id}.{self.number}"


class MutantError(Exception):
    """An entry of a table does not fit the tree; the message names the entry."""


def load_mutants(folder: Path = TABLES) -> tuple[tuple[Mutant, ...], dict[str, str]]:
    """All mutants, and the rows that none can break with the reason.

    Raises:
        MutantError: An entry has other keys than the documented ones, or a row is both broken and unbreakable.
    """
    mutants: list[Mutant] = []
    unbreakable: dict[str, str] = {}
    for path in sorted(folder.glob("*.yaml")):
        for entry in yaml.safe_load(path.read_text(encoding="utf-8")):
            identifier = entry.get("id")
            if set(entry) == {"id", "unbreakable"}:
                unbreakable[identifier] = entry["unbreakable"]
                continue
            if not _REQUIRED <= set(entry) <= _REQUIRED | _OPTIONAL:
                accepted = ", ".join(sorted(_REQUIRED | _OPTIONAL))
                raise MutantError(f"{path.name}: {identifier}: keys are {accepted}; found {sorted(entry)}")
            edits = tuple(_edit(item) for item in (entry, *entry.get("also", ())))
            number = 1 + sum(mutant.id == identifier for mutant in mutants)
            mutants.append(Mutant(identifier, entry["breaks"], edits, number))
    if both := unbreakable.keys() & {mutant.id for mutant in mutants}:
        raise MutantError(f"{sorted(both)} are listed as unbreakable and have mutants")
    return tuple(mutants), unbreakable


def _edit(entry: dict[str, Any]) -> Edit:
    find, replace = (str(entry[name]).rstrip("\n") for name in ("find", "replace"))
    return Edit(find, replace, entry.get("in", ""), entry.get("everywhere", False))


def shipped_texts(root: Path = ROOT) -> dict[Path, str]:
    """Text of every shipped file, by path relative to the root."""
    paths = (path for folder in SHIPPED for path in sorted((root / folder).rglob("*")) if path.suffix in SUFFIXES)
    return {path.relative_to(root): path.read_text(encoding="utf-8") for path in paths if path.is_file()}


def mutated(mutant: Mutant, texts: dict[Path, str]) -> dict[Path, str]:
    """The files that the mutant changes, with their new text.

    Raises:
        MutantError: A text to be found is not there exactly once, nothing changes, or the new text does not parse.
    """
    changed: dict[Path, str] = {}
    for edit in mutant.edits:
        places = [path for path in texts if edit.find in texts[path] and edit.file in ("", path.name)]
        counted = sum(texts[path].count(edit.find) for path in places)
        if counted != 1 and not (edit.is_everywhere and len(places) == 1):
            where = ", ".join(f"{path} ({texts[path].count(edit.find)})" for path in places) or "no file"
            raise MutantError(f"{mutant.name}: {edit.find!r} must stand in one place, and stands in {where}")
        (path,) = places
        changed[path] = changed.get(path, texts[path]).replace(edit.find, edit.replace)
    for path, text in changed.items():
        if text == texts[path]:
            raise MutantError(f"{mutant.name} changes nothing in {path}")
        _parse(mutant, path, text)
    return changed


def _parse(mutant: Mutant, path: Path, text: str) -> None:
    try:
        if path.suffix == ".py":
            ast.parse(text)
        elif path.suffix == ".yaml":
            yaml.safe_load(text)
    except (SyntaxError, yaml.YAMLError) as error:
        raise MutantError(f"{mutant.name}: {path} no longer parses: {error}") from error

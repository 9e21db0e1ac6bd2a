"""The licence is shipped, and docs/licences.md names every distribution that rawko installs, with its licence."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.packaging.wheel import built_wheel

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| ([\w.-]+) \| ([^|]+) \| ([^|]+) \|$", PAGE, re.MULTILINE)
_CELLS = [(name, licence.strip(), extras.strip()) for name, licence, extras in ROWS if name != "distribution"]
LISTED = {str(canonicalize_name(name)): (licence, extras) for name, licence, extras in _CELLS}
EXTRAS = ("journal", "http", "agents", "eval", "fleet", "postgres", "mcp", "png", "tui")
"""The extras that users install; `dev` and `bench` are for work on rawko itself."""

CLASSIFIED = {
    "MIT License": "MIT",
    "BSD License": "BSD-",
    "Apache Software License": "Apache-2.0",
    "ISC License (ISCL)": "ISC",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "GNU Lesser General Public License v3 (LGPLv3)": "LGPL-3.0",
}
"""Trove classifiers of packages that state no SPDX expression, and how that expression begins."""


def required(name: str, extras: frozenset[str]) -> Iterator[Requirement]:
    """What a distribution requires here, with these extras."""
    for line in metadata.requires(name) or []:
        requirement = Requirement(line)
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in (*extras, "")):
            yield requirement


def closure(extras: frozenset[str]) -> set[str]:
    """Canonical names of all that is installed with rawko and these extras, rawko itself left out."""
    seen: set[tuple[str, frozenset[str]]] = set()
    open_: list[tuple[str, frozenset[str]]] = [("rawko", extras)]
    while open_:
        entry = open_.pop()
        if entry not in seen:
            seen.add(entry)
            open_ += [(str(canonicalize_name(r.name)), frozenset(r.extras)) for r in required(*entry)]
    return {name for name, _ in seen} - {"rawko"}


@pytest.mark.parametrize("extra", ["", *EXTRAS])
def test_every_distribution_is_listed_with_what_brings_it(extra: str) -> None:
    core = closure(frozenset())
    names = closure(frozenset({extra})) - core if extra else core
    missing = sorted(names - LISTED.keys())
    assert not missing, f"docs/licences.md does not name {missing}, which {extra or 'rawko'} installs"
    told = {name for name, (_, brought_by) in LISTED.items() if (extra or "rawko") in brought_by.split(", ")}
    assert told == names


@pytest.mark.parametrize("name", sorted(LISTED))
def test_the_licence_is_the_one_that_the_package_states(name: str) -> None:
    told = LISTED[name][0]
    stated = metadata.metadata(name)
    if expression := stated.json.get("license_expression"):
        assert told.startswith(expression)
        return
    classifiers = [c.rpartition(" :: ")[2] for c in stated.get_all("Classifier") or [] if c.startswith("License ::")]
    assert all(CLASSIFIED[c] in told for c in classifiers if c in CLASSIFIED), (told, classifiers)
    assert classifiers or stated.json.get("license") or stated.json.get("license_file") or _licence_files(name), (
        f"{name} states no licence at all"
    )


def _licence_files(name: str) -> list[str]:
    """The licence texts that a package ships where its metadata say nothing."""
    return [str(file) for file in metadata.files(name) or [] if "LICENSE" in file.name.upper()]


@pytest.mark.parametrize("name", ["sismic", "pyte", "psycopg", "pygit2"])
def test_what_a_copyleft_licence_asks_is_told(name: str) -> None:
    text = PAGE.partition("| distribution |")[0]
    assert f"**{name}**" in text


def test_the_readme_leads_to_the_licences() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "(LICENSE)" in readme
    assert "(docs/licences.md)" in readme


@pytest.mark.thorough
def test_the_licence_is_the_one_of_the_metadata_and_is_in_the_wheel(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    licence = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert licence.startswith("MIT License")
    assert "rawko contributors" in licence
    assert metadata.metadata("rawko")["License-Expression"] == "MIT"
    with zipfile.ZipFile(built_wheel(tmp_path_factory)) as archive:
        (inside,) = (name for name in archive.namelist() if name.endswith("/licenses/LICENSE"))
        assert archive.read(inside).decode() == licence

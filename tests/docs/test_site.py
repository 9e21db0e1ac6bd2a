"""The documentation site: its navigation names every page; it builds, and fetches nothing from other hosts."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rawko

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SETTINGS = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]
IS_INSTALLED = all(importlib.util.find_spec(name) for name in ("zensical", "mkdocstrings"))
needs_site = pytest.mark.skipif(not IS_INSTALLED, reason="needs the extra 'site'")
FETCHED = re.compile(r"<(?:script|img|link|iframe)\b[^>]*?(?:src|href)=[\"']?((?:https?:)?//[^\"' >]+)")


def named(entry: Any) -> Iterator[str]:
    """Pages of an entry of the navigation, in their order."""
    if isinstance(entry, str):
        yield entry
        return
    for part in entry.values() if isinstance(entry, dict) else entry:
        yield from named(part)


def test_the_navigation_names_every_page_once() -> None:
    pages = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
    assert sorted(named(SETTINGS["nav"])) == pages


def test_the_tutorial_comes_first() -> None:
    assert list(named(SETTINGS["nav"]))[:2] == ["index.md", "tutorial.md"]


def test_the_start_page_leads_to_every_page_of_the_guide() -> None:
    start = (DOCS / "index.md").read_text(encoding="utf-8")
    guide = [page for page in named(SETTINGS["nav"]) if "/" not in page or page.startswith(("machines/", "migrating/"))]
    unnamed = [page for page in guide if f"({page})" not in start]
    assert set(unnamed) <= {"index.md", "changelog.md", "licences.md"}


def test_the_api_page_names_every_public_name() -> None:
    text = (DOCS / "api" / "rawko.md").read_text(encoding="utf-8")
    assert [name for name in rawko.__all__ if f"`{name}`" not in text and not name.startswith("__")] == []


def build(folder: Path) -> subprocess.CompletedProcess[str]:
    """The site of the pages in `folder/docs`, built there."""
    shutil.copy(ROOT / "zensical.toml", folder)
    (folder / "rawko").symlink_to(ROOT / "rawko")
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@needs_site
def test_the_site_builds_and_fetches_nothing(tmp_path: Path) -> None:
    shutil.copytree(DOCS, tmp_path / "docs")
    built = build(tmp_path)
    assert built.returncode == 0, built.stdout + built.stderr
    site = tmp_path / SETTINGS["site_dir"]
    pages = {path.relative_to(site).as_posix(): path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    assert {page.removesuffix(".md") + ".html" for page in named(SETTINGS["nav"])} <= pages.keys()
    assert {page: found for page, text in pages.items() if (found := FETCHED.findall(text))} == {}
    assert 'id="rawko.runtime.Actor"' in pages["api/runtime.html"]
    assert (site / "machines" / "orchestrator.svg").is_file()


@needs_site
def test_a_broken_link_ends_the_build(tmp_path: Path) -> None:
    shutil.copytree(DOCS, tmp_path / "docs")
    with (tmp_path / "docs" / "tutorial.md").open("a", encoding="utf-8") as page:
        page.write("\nSee [the page that is not there](not-there.md).\n")
    built = build(tmp_path)
    assert built.returncode != 0
    assert "page does not exist" in built.stdout + built.stderr

"""SECURITY.md names a test for every promise, and each of them exists."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
PROMISES = [line.strip("|").split("|") for line in PAGE.partition("## Promises")[2].splitlines() if line[:2] == "| "][
    1:
]


@cache
def all_tests() -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "tests").rglob("*.py")))


@pytest.mark.parametrize("row", PROMISES, ids=lambda row: row[0].strip()[:60])
def test_every_promise_names_tests_that_exist(row: list[str]) -> None:
    named = row[-1] if "`" in row[-1] else "|".join(row)
    files = re.findall(r"tests/[\w/]+\.py", named)
    functions = re.findall(r"\btest_\w+(?=`)(?<!\.py)", named)
    assert files or functions, row[0]
    for file in files:
        assert (ROOT / file).is_file(), file
    for function in functions:
        assert re.search(rf"def {function}\b", all_tests()), function

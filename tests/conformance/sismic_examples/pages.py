"""The executable snippets of sismic's documentation: reading them, and running them as Sphinx's doctest does.

    python -m tests.conformance.sismic_examples.pages [rawko|sismic]

Snippets of a group run in one namespace, top to bottom; what they print is compared with the next `testoutput` of the
group, `...` standing for anything.
"""

from __future__ import annotations

import io
import os
import re
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, redirect_stdout
from dataclasses import dataclass, field
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, OutputChecker
from pathlib import Path
from textwrap import dedent

from tests.conformance.fetch import sismic_folder
from tests.conformance.sismic_examples.engine import in_place_of_sismic

_DIRECTIVE = re.compile(r"^(?P<indent> *)\.\. (?P<kind>testsetup|testcode|testoutput)::(?P<group>.*)$")
_CHECKER = OutputChecker()
PRIVATE = "reads sismic's private queues (`_external_queue`, `_select_event`, `_raise_event`)"
DIFFERENCES: Mapping[str, str] = {
    "code.rst initial_context": "a message that the installed sismic words otherwise, too",
    "contract.rst": "the error is sismic's class; its message is ours, with the place in the chart",
    "concurrent.rst bind": PRIVATE,
    "concurrent.rst buttons": PRIVATE,
    "execution.rst interpreter": PRIVATE,
}
"""Groups that ask for what rawko does otherwise, with the reason."""


@dataclass(frozen=True)
class Part:
    """One piece of code, with what it must print; None where nothing is said."""

    line: int
    code: str
    output: str | None = None


@dataclass
class Group:
    """The snippets of one page that share a namespace."""

    id: str
    parts: list[Part] = field(default_factory=list)


def groups(page: Path) -> list[Group]:
    """All groups of a page, in order of their first snippet."""
    found: dict[str, Group] = {}
    for line, kind, name, text in _blocks(page):
        group = found.setdefault(name, Group(f"{page.name} {name}".strip()))
        if kind != "testoutput":
            group.parts.append(Part(line, text))
        elif group.parts:
            code = group.parts.pop()
            group.parts.append(Part(code.line, code.code, text))
    return list(found.values())


def _blocks(page: Path) -> Iterator[tuple[int, str, str, str]]:
    lines = page.read_text("utf-8").splitlines()
    for number, line in enumerate(lines):
        if match := _DIRECTIVE.match(line):
            body: list[str] = []
            for inner in lines[number + 1 :]:
                if inner.strip() and not inner.startswith(match["indent"] + "  "):
                    break
                body.append(inner)
            text = dedent("\n".join(inner for inner in body if not inner.strip().startswith(":")))
            yield number + 2, match["kind"], match["group"].strip(), text.strip() + "\n"


def run_group(group: Group, docs: Path) -> str | None:
    """None if all is as documented, else the first difference. Relative paths are those of the documentation."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    printed = ""
    with _inside(docs):
        for part in group.parts:
            out = io.StringIO()
            try:
                with redirect_stdout(out):
                    exec(compile(part.code, f"{group.id}:{part.line}", "exec"), namespace)
                printed += out.getvalue()
            except Exception:  # noqa: BLE001  # what a snippet raises is what it shows
                printed += out.getvalue() + traceback.format_exc()
                if part.output is None or "Traceback" not in part.output:
                    return f"line {part.line}: {traceback.format_exc().splitlines()[-1]}"
            if part.output is not None:
                if not _CHECKER.check_output(part.output, _shortened(printed), ELLIPSIS | NORMALIZE_WHITESPACE):
                    return f"line {part.line}: expected {part.output!r}, found {printed!r}"
                printed = ""
    return None


def _shortened(printed: str) -> str:
    """A traceback as doctest writes it: without the causes before the last one."""
    return printed[printed.rfind("Traceback") :] if "Traceback" in printed else printed


@contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def all_groups(docs: Path) -> list[Group]:
    """Every group of every page."""
    return [group for page in sorted(docs.glob("*.rst")) for group in groups(page)]


def outcomes(engine: str) -> dict[str, str | None]:
    """By group: None if all is as documented, else the first difference."""
    docs = sismic_folder() / "docs"
    with in_place_of_sismic() if engine == "rawko" else nullcontext():
        return {group.id: run_group(group, docs) for group in all_groups(docs)}


def count(engine: str) -> str:
    """Groups that are as documented, of all."""
    found = outcomes(engine)
    return f"{sum(outcome is None for outcome in found.values())} / {len(found)}"


def main() -> None:
    """Print each group and what became of it."""
    for group, outcome in outcomes(sys.argv[1] if len(sys.argv) > 1 else "rawko").items():
        print(f"{group}: {outcome or 'as documented'}")


if __name__ == "__main__":
    main()

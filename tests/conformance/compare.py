"""The public suites on every engine that is here, as the tables of docs/conformance.md.

    make conformance                                # runs all, writes the tables into the page
    python -m tests.conformance.compare --print     # prints them
    python -m tests.conformance.compare --own       # only our column, which takes seconds

What other engines did is kept beside the tables as numbers; our own column is checked against a run by
`test_conformance_page`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tests.conformance import peers, scion, w3c
from tests.conformance.fetch import NotFetched, scion_folder, w3c_folder
from tests.conformance.sismic_examples import pages, suite
from tests.conformance.table import Row, scion_rows, topic_of, w3c_rows
from tests.conformance.test_scion import FAILS as SCION_FAILS
from tests.conformance.test_w3c import FAILS as W3C_FAILS

PAGE = Path(__file__).parents[2] / "docs" / "conformance.md"
Outcomes = Mapping[str, str | None]


@dataclass(frozen=True)
class Column:
    """What one engine did.

    Attributes:
        rows: By category; None where the engine was not run.
    """

    engine: str
    rows: Mapping[str, Row] | None


def column(engine: str, category_of: Mapping[str, str], run: Callable[[], Outcomes]) -> Column:
    """An engine's outcomes by category; without rows if it is not here."""
    try:
        outcomes = run()
    except (peers.NoXState, ImportError) as error:
        print(f"{engine} is not here: {error}", file=sys.stderr)
        return Column(engine, None)
    rows: dict[str, Row] = {}
    for case, outcome in outcomes.items():
        row = rows.setdefault(category_of[case], Row())
        if outcome != peers.NOT_RUN:
            row.count(case, outcome)
    return Column(engine, rows)


def scion_columns() -> list[Column]:
    """SCION's cases on all engines, ours first."""
    cases = list(scion.cases(scion_folder()))
    category_of = {case.id: case.category for case in cases}
    return [
        Column("rawko", scion_rows()),
        column(_named("sismic"), category_of, lambda: {case.id: peers.scion_on_sismic(case) for case in cases}),
        column(_named("python-statemachine"), category_of, lambda: peers.scion_on_statemachine(cases)),
        column("XState 5.33", category_of, lambda: peers.scion_on_xstate(cases)),
    ]


def w3c_columns() -> list[Column]:
    """The W3C's documents on all engines that have a word for their content, ours first."""
    cases = list(w3c.cases(w3c_folder()))
    category_of = {case.id: topic_of(case.number) for case in cases}
    return [
        Column("rawko", w3c_rows()),
        column(_named("sismic"), category_of, lambda: {case.id: peers.w3c_on_sismic(case) for case in cases}),
        column(_named("python-statemachine"), category_of, lambda: peers.w3c_on_statemachine(cases)),
    ]


def _named(package: str) -> str:
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return package


def table(columns: Iterable[Column]) -> str:
    """The columns side by side, in Markdown, with a line of sums."""
    found = list(columns)
    assert found[0].rows is not None
    lines = [f"| category | {' | '.join(c.engine for c in found)} |", "|---" * (len(found) + 1) + "|"]
    for category in found[0].rows:
        lines.append(f"| {category} | {' | '.join(_cell(c, [category]) for c in found)} |")
    whole = list(found[0].rows)
    lines.append(f"| **all** | {' | '.join(f'**{_cell(c, whole)}**' for c in found)} |")
    return "\n".join(lines)


def _cell(column: Column, categories: list[str]) -> str:
    if column.rows is None:
        return "–"
    rows = [column.rows[name] for name in categories if name in column.rows]
    cases = sum(row.cases for row in rows)
    return f"{sum(row.passed for row in rows)} / {cases}" if cases else "–"


def failures(column: Column, reasons: Mapping[str, str]) -> str:
    """What we do not pass, with the reasons that the suite's tests give, in Markdown."""
    assert column.rows is not None
    failed = [case for row in column.rows.values() for case in row.failed]
    return "\n".join(f"- `{case}` {reasons.get(case, '')}".rstrip() for case in failed) or "Nothing."


def sismic_table() -> str:
    """sismic's own suite and documentation, on its interpreter and on ours."""
    lines = ["| | stock sismic | rawko |", "|---|---|---|"]
    counts = []
    for engine in ("sismic", "rawko"):
        outcomes = suite.run_suite(engine)
        counts.append(f"{sum(outcome == 'passed' for outcome in outcomes.values())} / {len(outcomes)}")
    lines.append(f"| tests of its suite that run an interpreter | {' | '.join(counts)} |")
    lines.append(f"| snippets of its documentation, by group | {' | '.join(map(pages.count, ('sismic', 'rawko')))} |")
    return "\n".join(lines)


def replaced(page: str, name: str, content: str) -> str:
    """The page with the part between the markers of that name exchanged."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    assert begin in page and end in page, name
    return re.sub(f"{re.escape(begin)}.*?{re.escape(end)}", lambda _: f"{begin}\n{content}\n{end}", page, flags=re.S)


def part(page: str, name: str) -> str:
    """The text between the markers of that name."""
    return page.split(f"<!-- {name} -->\n", 1)[1].split(f"\n<!-- end of {name} -->", 1)[0]


def own_column(content: str) -> dict[str, str]:
    """By category, what the table says of rawko."""
    rows = (line.strip("|").split("|") for line in content.splitlines()[2:])
    return {cells[0].strip(" *"): cells[1].strip(" *") for cells in rows}


def with_own_column(content: str, own: Column) -> str:
    """A table with rawko's column brought up to date, and the others' as they were."""
    now = own_column(table([own]))
    lines = content.splitlines()
    for place, line in enumerate(lines[2:], 2):
        cells = line.strip("|").split("|")
        name = cells[0].strip(" *")
        cells[1] = f" **{now[name]}** " if "*" in cells[0] else f" {now[name]} "
        lines[place] = f"|{'|'.join(cells)}|"
    return "\n".join(lines)


def renew_own() -> None:
    """Bring our columns on the page up to date."""
    page = PAGE.read_text("utf-8")
    for name, rows, reasons in (("scion", scion_rows(), SCION_FAILS), ("w3c", w3c_rows(), W3C_FAILS)):
        own = Column("rawko", rows)
        page = replaced(page, name, with_own_column(part(page, name), own))
        page = replaced(page, f"{name} failures", failures(own, reasons))
    PAGE.write_text(page, "utf-8")


def main(arguments: list[str]) -> int:
    try:
        if "--own" in arguments:
            renew_own()
            return 0
        on_scion, on_w3c = scion_columns(), w3c_columns()
        parts = {
            "scion": table(on_scion),
            "scion failures": failures(on_scion[0], SCION_FAILS),
            "w3c": table(on_w3c),
            "w3c failures": failures(on_w3c[0], W3C_FAILS),
            "sismic": sismic_table(),
        }
    except NotFetched as error:
        print(f"not fetched: {error}", file=sys.stderr)
        return 1
    if "--print" in arguments:
        print("\n\n".join(parts.values()))
        return 0
    page = PAGE.read_text("utf-8")
    for name, content in parts.items():
        page = replaced(page, name, content)
    PAGE.write_text(page, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

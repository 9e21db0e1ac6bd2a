"""`compare` and `report --receipt`: prints runs side by side, and the evidence for a run's claim."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rawko.cli.amounts import duration, money
from rawko.cli.columns import Column, Columns, stdout_width
from rawko.cli.fitting import fitted
from rawko.cli.output import Painter, visible_line
from rawko.cli.runs.travel import carry_out, code_of
from rawko.config import Settings

if TYPE_CHECKING:
    from rawko.app.checks.receipt import Receipt
    from rawko.app.views.comparing import Side, SideBySide

_TITLE = 24
_SIDE = 24


def compare_command(runs: Sequence[str], *, as_json: bool) -> int:
    """Print two or more runs side by side."""
    from rawko.app.views.comparing import side_by_side

    async def do(current: Settings) -> SideBySide:
        return await side_by_side(runs, current)

    return code_of(carry_out(do, _print_sides, as_json=as_json))


def _print_sides(told: SideBySide) -> None:
    paint = Painter(sys.stdout)
    columns = Columns(
        [Column("", _TITLE), *(Column(side.view.id, _SIDE, is_right=True) for side in told.sides)], stdout_width()
    )
    print(paint(columns.header(), "bold"))
    for title, cells in _rows(told):
        print(columns.line([visible_line(title), *map(visible_line, cells)]).rstrip())


def _rows(told: SideBySide) -> Iterator[tuple[str, list[str]]]:
    sides = told.sides
    yield "outcome", [side.view.outcome for side in sides]
    yield "agent", [side.view.agent or "arbiter" for side in sides]
    yield "model", [side.view.model or "" for side in sides]
    yield "iterations", ["" if side.view.iterations is None else str(side.view.iterations) for side in sides]
    yield "tokens", [f"{side.view.usage.total_tokens:,}" for side in sides]
    yield "cost", [money(side.view.cost_usd) for side in sides]
    yield "time", [duration(side.view.duration_s) for side in sides]
    for title in dict.fromkeys(title for side in sides for title in _evidence(side)):
        yield title, [_evidence(side).get(title, "") for side in sides]
    yield "files", [str(len(side.changes)) for side in sides]
    yield "lines", ["+{} −{}".format(*side.lines) for side in sides]
    for path in told.paths:
        yield f"  {path}", [_change(side, path) for side in sides]


def _evidence(side: Side) -> dict[str, str]:
    from rawko.app.checks.titles import title_of

    return {title_of(one["demand"]): "holds" if one["held"] else "missing" for one in side.evidence}


def _change(side: Side, path: str) -> str:
    change = next((one for one in side.changes if one.path == path), None)
    if change is None:
        return ""
    lines = "binary" if change.is_binary else f"+{change.added_lines} −{change.removed_lines}"
    return lines if change.kind == "modified" else f"{change.kind} {lines}"


def receipt_command(run: str, *, as_json: bool) -> int:
    """Print the receipt of a run: evidence, review, risks and cost."""
    from rawko.app.checks.receipt import receipt

    async def do(current: Settings) -> Receipt:
        return await receipt(run, current)

    return code_of(carry_out(do, _print_receipt, as_json=as_json))


def _print_receipt(told: Receipt) -> None:
    paint = Painter(sys.stdout)
    view = told.side.view
    print(paint(visible_line(f"run {view.id}: {view.outcome}, {view.words!r}"), "bold"))
    for name, text in _receipt_rows(told):
        print(fitted(f"{paint(f'{name:<10}', 'dim')} {visible_line(text)}", sys.stdout, 11))


def _receipt_rows(told: Receipt) -> Iterator[tuple[str, str]]:
    from rawko.app.checks.titles import title_of

    view = told.side.view
    yield "claim", told.claim or "nothing"
    for one in told.side.evidence:
        took = f", {duration(one['duration_ms'] / 1000)}" if one["duration_ms"] else ""
        verdict = "holds" if one["held"] else "missing"
        yield "evidence", f"{verdict}: {title_of(one['demand'])}: {one['found']} (tree {one['tree'][:12]}{took})"
    for said in told.review:
        yield "review", f"{said['agent']}: {said['result']}: {said['output'] or ''}"
    for risk in told.risks:
        yield "risk", risk
    calls = f"{view.usage.calls} call{'' if view.usage.calls == 1 else 's'}"
    cost = "cost unknown" if view.cost_usd is None else f"${view.cost_usd:.4f}"
    yield "cost", f"{cost}, {view.usage.total_tokens:,} tokens in {calls}, {duration(view.duration_s)}"
    yield "undo", told.undo or "nothing to undo: no file was changed"

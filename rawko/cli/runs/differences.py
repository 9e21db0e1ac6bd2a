"""`diff`: prints the differences between two steps of recorded runs: files, conversation, context."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rawko.app.records.addresses import LAST, Address
from rawko.cli.fitting import fitted
from rawko.cli.output import Painter, visible, visible_line
from rawko.cli.runs.lines import file_line, short
from rawko.cli.runs.notices import report_finished, report_lost
from rawko.cli.summary import diff_style
from rawko.config import ConfigError, Settings
from rawko.vocabulary.shown_states import shown_states

if TYPE_CHECKING:
    from rawko.app.time_travel.compare import Difference, FieldChange
    from rawko.app.time_travel.conversation import AgentMessage

from rawko.cli.runs.travel import carry_out, code_of


def diff_command(
    run: str, places: Sequence[str], parts: Sequence[str], *, as_json: bool, bindings: str | None = None
) -> int:
    """Print the differences between two steps; returns the exit code."""

    from rawko.app.time_travel.compare import PARTS, compare

    async def do(current: Settings) -> Difference:
        before, after = _sides(run, places)
        for name in dict.fromkeys((before.run, after.run)):
            await report_finished(name, current)
            await report_lost(name, current)
        return await compare(before, after, current, parts or PARTS)

    return code_of(carry_out(do, _print_difference, as_json=as_json, bindings=bindings))


def _sides(run: str, places: Sequence[str]) -> tuple[Address, Address]:
    """The two steps that the command line names; by default the first step and the end.

    diff 7f2c             7f2c@1 and 7f2c@last
    diff 7f2c 10 42       7f2c@10 and 7f2c@42
    diff 7f2c@10          7f2c@10 and 7f2c@last
    diff 7f2c@10 81aa@3   7f2c@10 and 81aa@3
    """
    first = Address.parse(run)
    rest = list(places)
    if first.place is None:
        first = _place(first.run, rest.pop(0) if rest else "1")
    second = _place(first.run, rest.pop(0)) if rest else Address(first.run, LAST)
    if rest:
        raise ConfigError(f"diff compares two steps; {rest[0]!r} is one too many")
    return first, second


def _place(run: str, text: str) -> Address:
    """The address of `RUN2@B`, or of `B` or `@B` in the first run."""
    return Address.parse(text) if text.find("@") > 0 else Address(run, text.removeprefix("@"))


def _print_difference(told: Difference) -> None:
    paint = Painter(sys.stdout)
    print(fitted(paint(visible_line(f"{told.before} → {told.after}"), "bold"), sys.stdout))
    if told.files is not None:
        print(paint(f"\nfiles: {len(told.files)} changed" if told.files else "\nfiles: the same", "bold"))
        for change in told.files:
            print(f"  {visible_line(file_line(change))}")
        for line in told.diff.removesuffix("\n").split("\n") if told.diff else ():
            print(paint(visible(line), *diff_style(line)))
    if told.conversation is not None:
        print(paint("\nconversation" if told.conversation else "\nconversation: the same", "bold"))
        for kind, said in told.conversation:
            for line in _said_lines(said, "+" if kind == "added" else "-"):
                print(fitted(paint(visible(line), "green" if kind == "added" else "red"), sys.stdout, 6))
    if told.fields is not None:
        _print_machine(told, told.fields, paint)


def _said_lines(said: AgentMessage, sign: str) -> Iterator[str]:
    from rawko.app.time_travel.conversation import text_of

    role = said.message.get("role")
    who = f"{said.agent} " if said.agent else ""
    lines = text_of(said.message).split("\n")
    yield f"{sign} {who}{role}: {lines[0]}"
    yield from (f"{sign}     {line}" for line in lines[1:])


def _print_machine(told: Difference, fields: Sequence[FieldChange], paint: Painter) -> None:
    states = _states(told)
    print(paint("\nmachine" if fields or states else "\nmachine: the same", "bold"))
    for line in (*states, *(line for change in fields for line in _field_lines(change))):
        print(fitted(f"  {visible_line(line)}", sys.stdout))


def _states(told: Difference) -> list[str]:
    before, after = told.before.configuration, told.after.configuration
    found = []
    for actor in sorted(before.keys() | after.keys()):
        left, right = (" ".join(shown_states(side.get(actor, ()))) or "-" for side in (before, after))
        if left != right:
            found.append(f"{actor}  {left} → {right}")
    return found


def _field_lines(change: FieldChange) -> Iterator[str]:
    name = f"{change.actor}  {change.name}"
    if change.added is not None:
        yield f"{name}  +{len(change.added)}"
        yield from (f"    + {short(item)}" for item in change.added[:5])
    else:
        yield f"{name}  {short(change.before, 70)} → {short(change.after, 70)}"

"""The snapshot of a machine as JSON text, and the fast way to read it.

At rest nothing waits (no event, timer or invocation), and nothing observes the machine. Most of the text of such a
machine is the same for all machines of its chart in one place. The text is written from these parts, and it is read by
cutting it at them, so that only the values are parsed. An example, with line breaks that the text does not have:

    {"format":2,"chart":{"name":"lamp","hash":"7c..."},"started":true,"done":false,"output":null     head
    ,"now": 0.0
    ,"configuration": ["root","on"],"history":{}                                                     place
    ,"context": {"n":0}
    ,"external":[],"timers":[],"invocations":[],"children":{}, ... ,"old":{},"seq": 1 ,"number": 0 }

A text is read in this way if its head and place are exactly those of a machine that was restored before, and so was
checked as a whole. All other texts are read by `restoring` as a whole, which also finds what is wrong with them.
"""

from __future__ import annotations

from math import isfinite
from typing import Any

from rawko.interpreter.compiled.program import MAX_NODES
from rawko.interpreter.data.json_text import shallow_parse, to_text
from rawko.interpreter.data.values import fields_of, parsed_value
from rawko.interpreter.errors import SnapshotError
from rawko.interpreter.running.snapshots import FORMAT, history_by_name, take_snapshot
from rawko.interpreter.stepping.machine import Machine

_LONG = 100_000
"""Characters of a text whose parts are not cut out: copying them would take longer than is saved."""
_START = f'{{"format":{FORMAT},"chart":'
_NOTHING_WAITS = ',"external":[],"timers":[],"invocations":[],"children":{},"entry":{},"idle":{},"old":{},"seq":'


def snapshot_text(machine: Machine) -> str:
    """The snapshot as JSON text without spaces, written without building the snapshot as data.

    Raises:
        SnapshotError: As `take_snapshot`; also if the clock's time is not finite, which JSON cannot express.
    """
    if not isfinite(machine.time):
        raise SnapshotError(f"the clock stands at {machine.time!r}; accepted: a finite number of seconds", field="now")
    node = machine.node
    if node is None or not _is_resting(machine):
        return to_text(take_snapshot(machine, _as_it_is))
    structure, output, history = machine.program.structure, machine.output, machine.history
    return (
        f'{_START}{structure.heading_text},"started":true,"done":{"true" if machine.is_done else "false"},'
        f'"output":{"null" if output is None else to_text(output)}'
        f',"now":{float(machine.time)!r}'
        f',"configuration":{node.document_text}'
        f',"history":{to_text(history_by_name(structure, history)) if history else "{}"}'
        f',"context":{to_text(machine.fields)}'
        f'{_NOTHING_WAITS}{machine.seq},"number":{machine.number}}}'
    )


def _as_it_is(value: Any) -> Any:
    return value


def _is_resting(machine: Machine) -> bool:
    return not (
        machine.node is None
        or machine.agenda
        or machine.internal
        or machine.invocations
        or machine.olds
        or machine.observer is not None
        or machine.is_busy
    )


def restore_resting(machine: Machine, text: str) -> bool:
    """Fill a fresh machine from the text of a machine at rest; False if the text must be read as a whole."""
    if len(text) >= _LONG or text[-1:] != "}" or machine.observer is not None:
        return False
    head, now, place, rest = _cut(text)
    known = machine.program.known_places.get((head, place))
    if known is None:
        return False
    context, _, rest = rest.rpartition(_NOTHING_WAITS)
    seq, _, number = rest[:-1].partition(',"number":')
    fields = shallow_parse(context)
    numbers = shallow_parse(f"[{now},{seq},{number}]")
    if type(fields) is not dict or type(numbers) is not list or [*map(type, numbers)] != [float, int, int]:
        return False
    machine.node, machine.history, machine.is_done = known
    machine.fields.clear()
    machine.fields.update(fields_of(parsed_value(fields)))
    _, machine.seq, machine.number = numbers
    machine.time = machine.now
    return True


def learn_place(machine: Machine, text: str) -> None:
    """Let `restore_resting` read texts like this one, from which the machine was just restored."""
    node, known = machine.node, machine.program.known_places
    if node is None or machine.output is not None or len(text) >= _LONG or not text.startswith(_START):
        return
    if _is_resting(machine) and len(known) < MAX_NODES:
        head, _, place, _ = _cut(snapshot_text(machine))
        known[head, place] = node, machine.history, machine.is_done


def _cut(text: str) -> tuple[str, str, str, str]:
    """Head, time, place, and the rest from the context on."""
    head, _, rest = text.partition(',"now":')
    now, _, rest = rest.partition(',"configuration":')
    place, _, rest = rest.partition(',"context":')
    return head, now, place, rest

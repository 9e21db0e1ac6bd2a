"""What an export to sismic tells: charts without a told loss run alike in stock sismic, the others differ as told."""

from __future__ import annotations

import os
from random import Random
from typing import Any

import pytest
from sismic.interpreter import Interpreter as StockInterpreter
from sismic.io import import_from_yaml

from rawko.chart import losses, parse_chart, to_sismic_yaml
from rawko.chart.definition import Chart
from rawko.chart.formats.yaml_text import yaml_text
from rawko.interpreter import Interpreter
from rawko.interpreter.errors import InterpreterError

CHARTS = int(os.environ.get("RAWKO_FUZZ", "75"))
"""More for a long run by hand."""
EVENTS = ("A", "B", "C")
SILENT = (" has none", "states have none", "and nothing else happens")
"""Losses of things that stock sismic passes over, or tells its listeners, without coming to another end."""


class Maker:
    """A random chart without code of its own: hierarchy, history, raise, assign, and in some all that sismic lacks."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._is_plain = seed % 2 == 0
        self._rows: list[tuple[dict[str, Any], list[str]]] = []
        self._count = 0
        root = self._state(0, [])
        for row, above in self._rows:
            self._moves(row, above)
        self.chart = parse_chart(yaml_text({"statechart": {"name": "m", "root state": root}}))

    def _may(self, share: float) -> bool:
        return self._random.random() < share

    def _state(self, depth: int, above: list[str]) -> dict[str, Any]:
        random = self._random
        row: dict[str, Any] = {"name": f"s{self._count}"}
        self._count += 1
        self._rows.append((row, above))
        for hook in ("on entry", "on exit"):
            if self._may(0.4):
                row[hook] = self._actions(hook == "on entry" and depth > 0)
        if depth == 0 or (depth < 3 and self._may(0.5)):
            children = [self._state(depth + 1, [*above, row["name"]]) for _ in range(random.randint(1, 3))]
            is_parallel = not self._is_plain and self._may(0.4)
            if not is_parallel:
                row["initial"] = children[0]["name"]
                if self._may(0.4):
                    history: dict[str, Any] = {"name": f"s{self._count}"}
                    history["type"] = random.choice(("shallow history", "deep history"))
                    if self._may(0.5):
                        history["memory"] = children[-1]["name"]
                    self._count += 1
                    self._rows.append((history, [*above, row["name"]]))
                    children.append(history)
            row["parallel states" if is_parallel else "states"] = children
        elif depth > 1 and self._may(0.15):
            row["type"] = "final"
        if not self._is_plain:
            if self._may(0.1):
                row["tags"] = ["t"]
            if self._may(0.05):
                row["description"] = "d"
        return row

    def _actions(self, may_raise: bool) -> list[Any]:
        random = self._random
        found: list[Any] = [{"assign": {random.choice(("x", "y")): random.choice((1, 2, "z", None))}}]
        if may_raise and self._may(0.2):
            found.append({"raise": random.choice(EVENTS)})
        if not self._is_plain and self._may(0.3):
            lost: tuple[Any, ...] = (
                {"log": "l"},
                {"emit": "E"},
                {"cancel": "c"},
                {"send": "B"},
                {"send": {"event": "B", "to": "o"}},
            )
            found.append(random.choice(lost))
        return found

    def _moves(self, row: dict[str, Any], above: list[str]) -> None:
        random = self._random
        if "type" in row:
            return
        names = [name for name, inside in self._all() if self._may_lead(name, inside, row, above)]
        moves = []
        for event in random.sample(EVENTS, random.randint(0, 3)):
            if self._is_plain and not above:
                move: dict[str, Any] = {"event": event, "action": self._actions(False)}
            else:
                move = {"event": event, **({"target": random.choice(names)} if self._may(0.8) else {})}
            if self._may(0.3):
                move["guard"] = f"in_state('{random.choice(self._rows)[0]['name']}')"
            if self._may(0.4):
                move["action"] = self._actions(False)
            if not self._is_plain and "target" in move and self._may(0.2):
                move["internal"] = True
            moves.append(move)
        if moves:
            row["transitions"] = moves
        if above and self._may(0.1):
            row["always"] = {
                "target": random.choice(names),
                "guard": f"in_state('{random.choice(self._rows)[0]['name']}')",
            }
        if not self._is_plain and self._may(0.1) and "initial" in row:
            row["on done"] = {"target": random.choice(names)}

    def _all(self) -> list[tuple[str, list[str]]]:
        return [(row["name"], inside) for row, inside in self._rows]

    def _may_lead(self, name: str, inside: list[str], row: dict[str, Any], above: list[str]) -> bool:
        """Not the root, and no history from inside its parent."""
        is_history = any(other["name"] == name and "history" in other.get("type", "") for other, _ in self._rows)
        return not self._is_plain or (bool(inside) and not (is_history and inside[-1] in (row["name"], *above)))


def ours(chart: Chart, events: list[str]) -> list[Any]:
    """What our machine does: active states, context, and what it left and entered, after each event."""
    machine = Interpreter(chart, max_microsteps=100, max_macrosteps=50)
    found: list[Any] = []
    try:
        for event in (None, *events):
            trace: list[str] = []
            steps = [machine.start()] if event is None else machine.queue(event).execute()
            for step in steps:
                for micro in step.steps:
                    trace += [f"-{name}" for name in micro.exited_states]
                    trace += [f"+{name}" for name in micro.entered_states]
            found.append((sorted(machine.configuration), dict(machine.context), trace))
    except InterpreterError:
        found.append("endless")
    return found


def stock(chart: Chart, events: list[str]) -> list[Any]:
    """The same in stock sismic, of the exported text."""
    machine = StockInterpreter(import_from_yaml(to_sismic_yaml(chart)))
    found: list[Any] = []
    for event in (None, *events):
        trace: list[str] = []
        if event is not None:
            machine.queue(event)
        for _ in range(60):
            try:
                step = machine.execute_once()
            except Exception as error:  # noqa: BLE001 - what it raises is what is compared
                return [*found, type(error).__name__]
            if step is None:
                break
            for micro in step.steps:
                # Stock sismic enters and leaves history states on the way, which are never active.
                trace += [f"-{name}" for name in micro.exited_states if not chart[name].is_history]
                trace += [f"+{name}" for name in micro.entered_states if not chart[name].is_history]
        else:
            return [*found, "endless"]
        found.append((sorted(machine.configuration), dict(machine.context), trace))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("part", range(5))
def test_random_charts_run_in_stock_sismic_as_told(part: int) -> None:
    silent = alike = 0
    for seed in range(part, CHARTS, 5):
        chart = Maker(seed).chart
        events = Random(f"{seed} events").choices(EVENTS, k=8)
        told = [loss.message for loss in losses(chart) if not loss.message.endswith(SILENT)]
        one, other = ours(chart, events), stock(chart, events)
        if not told:
            assert one == other, (seed, to_sismic_yaml(chart))
            silent += 1
        alike += one == other
    assert silent > CHARTS / 5 / 4, "charts without a loss are compared"
    assert alike < CHARTS / 5, "and losses are seen"


TOLD = {
    "{cancel: c}": "cancel 'c': sismic tells its listeners",
    "{emit: E}": "emit 'E': sismic tells its listeners",
    "{log: l}": "log: sismic tells its listeners",
    "{send: {event: E, to: parent}}": "send 'E' to 'parent': sismic tells its listeners",
    "{send: E}": "send 'E': sismic takes it before all events that wait",
    "{send: {event: E, delay: 1s}}": "send 'E': sismic counts its delay from the latest step",
    "{assign: {send: 1}}": "assign 'send': a word of sismic's",
    "{raise: {event: E, data: {delay: 1}}}": "raise 'E': 'delay' cannot be a field",
    "keep(x=event.x)": "entry and exit code of 'r': sismic shows it no event",
}


@pytest.mark.parametrize("action", TOLD)
def test_an_action_that_sismic_has_no_word_for_is_told(action: str) -> None:
    chart = parse_chart(f"statechart:\n  name: c\n  root state:\n    name: r\n    on entry: {action}\n")
    assert any(loss.message.startswith(TOLD[action]) for loss in losses(chart))
    assert TOLD[action] in to_sismic_yaml(chart), "in the head of the text, too"


KEYS = {
    "tags: [t]": "tags of 'r': sismic has none",
    "meta: {m: 1}": "meta of 'r': sismic has none",
    "output: {o: 1}": "output of 'r': sismic has none",
    "description: d": "description of 'r': sismic's states have none",
    "parallel states: [name: a]": "parallel state 'r': sismic enters and leaves regions",
    "always: {guard: g}": "transition of 'r': sismic takes an eventless transition without target for ever",
    "transitions: [{event: E, target: r}]": "transition of 'r': sismic leaves the root",
    "transitions: [{event: done.state.r}]": "transition of 'r': sismic sends no 'done.state.r'",
    "{initial: f, states: [{name: f, type: final}]}": "final state 'f': sismic leaves all states",
}


@pytest.mark.parametrize("key", KEYS)
def test_a_key_that_sismic_has_no_word_for_is_told(key: str) -> None:
    keys = key.strip("{}") if key.startswith("{") else key
    if key.startswith("{"):
        text = "    initial: f\n    states: [{name: f, type: final}]\n"
    else:
        text = f"    {keys}\n"
    chart = parse_chart(f"statechart:\n  name: c\n  root state:\n    name: r\n{text}")
    assert any(loss.message.startswith(KEYS[key]) for loss in losses(chart)), [str(x) for x in losses(chart)]


def test_a_history_without_a_memory_keeps_its_meaning() -> None:
    chart = parse_chart(
        "statechart:\n  name: c\n  root state:\n    name: r\n    initial: x\n    states:\n"
        "    - {name: x, transitions: [{event: A, target: h}]}\n"
        "    - {name: p, initial: a, states: [{name: a}, {name: b}, {name: h, type: deep history}]}\n"
    )
    assert losses(chart) == ()
    assert ours(chart, ["A"]) == stock(chart, ["A"])

"""One walk, on our interpreter and as a request for XState: guards say what a seeded table says, actions leave a trace.

Our machine chooses the way (events that the chart names, results of running actors, time up to what is due next);
XState is then asked to go the same way.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from rawko.chart import needed_names
from rawko.chart.definition import CallAction, Chart, Guard, GuardCall, LiteralArgument
from rawko.chart.expressions.formatting import format_call, format_guard
from rawko.chart.formats.xstate import export_xstate
from rawko.chart.formats.xstate.functions import javascript
from rawko.chart.lint import walk
from rawko.interpreter import Bindings, EventlessCycleError, Interpreter, InvocationError

PAYLOAD = {"output": {}, "task": "t", "agent_name": "x"}
OWN = ("after.", "done.", "error.", "rawko.")
FAILURES = (EventlessCycleError, InvocationError)
MAX_MICROSTEPS = 5_000
"""Random charts run in circles often, and none of them rests after so many microsteps: the walk stops there."""

Step = dict[str, Any]


@dataclass
class Walk:
    """What our machine did.

    Attributes:
        steps: What was asked, the start first, with what guards said.
        seen: After each step: active states, whether it is done, and the actions.
        failure: Why it ended early, as an error of ours.
    """

    steps: list[Step] = field(default_factory=list)
    seen: list[dict[str, Any]] = field(default_factory=list)
    failure: str | None = None


class Walker:
    """Walks one chart."""

    def __init__(self, chart: Chart, seed: object) -> None:
        self.chart = without_losses(chart)
        self._random = Random(repr(seed))
        self._says: dict[str, bool] = {}
        self._trace: list[str] = []
        self.needed: defaultdict[str, set[str]] = defaultdict(set)
        for row in needed_names(self.chart):
            self.needed[row.kind].add(row.name)
        self.delays = {name: 37 + 11 * place for place, name in enumerate(sorted(self.needed["delay"]))}
        self._machine = Interpreter(self.chart, self._bindings(), ignore_contract=True, max_microsteps=MAX_MICROSTEPS)
        self._events = sorted(
            {e for t in chart.transitions for e in t.events if "*" not in e and not e.startswith(OWN)}
        )

    def _bindings(self) -> Bindings:
        bindings = Bindings()
        for name in self.needed["guard"]:
            bindings.add("guard", name, self._guard(name))
        for name in self.needed["action"]:
            bindings.add("action", name, self._action(name))
        for name in self.needed["actor"]:
            bindings.add("actor", name, _never)
        for name, delay in self.delays.items():
            bindings.add("delay", name, lambda context, event, delay=delay: delay)
        for name in self.needed["input"]:
            bindings.add("input", name, lambda context, event: {})
        for name in self.needed["output"]:
            bindings.add("output", name, lambda context, event: {})
        return bindings

    def _guard(self, name: str) -> Callable[..., bool]:
        return lambda context, event, **arguments: self._says[name]

    def _action(self, name: str) -> Callable[..., None]:
        return lambda context, event, **arguments: self._trace.append(name)

    def walk(self, length: int) -> Walk:
        """Go so many steps, or until the machine is done or fails."""
        found = Walk()
        self._do(found, {}, self._machine.start)
        while len(found.steps) <= length and not self._machine.final and found.failure is None:
            step, go = self._choose()
            self._do(found, step, go)
        return found

    def follow(self, steps: list[Step]) -> Walk:
        """Go a way that another machine went, for a chart that should mean the same."""
        found = Walk()
        for step in steps:
            if found.failure is None and not (found.steps and self._machine.final):
                self._do(found, step, self._again(step), step["says"])
        return found

    def _again(self, step: Step) -> Callable[[], object]:
        if "advance" in step:
            return lambda: self._machine.advance(step["advance"] / 1000)
        if "event" not in step:
            return self._machine.start
        name, id = step["event"]["type"], step["event"].get("actorId")
        if id is None:
            return lambda: self._machine.send(name, **PAYLOAD)
        number = self._machine.invocations[id].number if id in self._machine.invocations else 0
        return self._result(id, number, name.startswith("xstate.done."))[1]

    def _do(self, found: Walk, step: Step, go: Callable[[], object], says: dict[str, bool] | None = None) -> None:
        self._says = says or {name: self._random.random() < 0.4 for name in sorted(self.needed["guard"])}
        self._trace = []
        found.steps.append({**step, "says": self._says})
        try:
            go()
            self._machine.execute()
        except FAILURES as error:
            found.failure = type(error).__name__
            return
        active = sorted(self._machine.configuration)
        found.seen.append({"active": active, "done": self._machine.final, "trace": self._trace})

    def _choose(self) -> tuple[Step, Callable[[], object]]:
        ways: list[tuple[Step, Callable[[], object]]] = [self._event(name) for name in (*self._events, "unknown")]
        for id, invocation in self._machine.invocations.items():
            ways += [self._result(id, invocation.number, is_done) for is_done in (True, True, False)]
        due = self._machine.next_due()
        if due is not None:
            seconds = due - self._machine.clock.time
            ways += [({"advance": round(seconds * 1000)}, lambda: self._machine.advance(seconds))] * 3
        return self._random.choice(ways)

    def _event(self, name: str) -> tuple[Step, Callable[[], object]]:
        return {"event": {"type": name, **PAYLOAD}}, lambda: self._machine.send(name, **PAYLOAD)

    def _result(self, id: str, number: int, is_done: bool) -> tuple[Step, Callable[[], object]]:
        if is_done:
            event = {"type": f"xstate.done.actor.{id}", "output": {}, "actorId": id}
            return {"event": event}, lambda: self._machine.complete_invocation(id, number, {})
        event = {"type": f"xstate.error.actor.{id}", "error": {}, "actorId": id}
        return {"event": event}, lambda: self._machine.fail_invocation(id, number, {})


def without_losses(chart: Chart) -> Chart:
    """The chart without what XState has no word for: the context's model, timeouts of actors."""
    states = {
        state.name: replace(state, invoke=tuple(replace(each, timeout=None) for each in state.invoke))
        for state in chart
    }
    return replace(chart, context=None, states=states)


async def _never(input: object) -> None:
    raise AssertionError("the walker sends results itself")


def request(walker: Walker, walked: Walk) -> dict[str, Any]:
    """What the driver needs to go the same way."""
    return {
        "machine": json.loads(export_xstate(walker.chart).text),
        "provide": provided(walker.chart),
        "guards": sorted(walker.needed["guard"]),
        "actions": sorted(walker.needed["action"] | calls_by_text(walker.chart)),
        "actors": sorted(walker.needed["actor"]),
        "delays": walker.delays,
        "steps": walked.steps,
    }


def provided(chart: Chart) -> dict[str, str]:
    """Guards that are no single name, by their text, in JavaScript: what the losses tell people to provide."""
    guards = [transition.guard for transition in chart.transitions]
    return {format_guard(guard): javascript(guard) for guard in guards if guard is not None and _is_composite(guard)}


def _is_composite(guard: Guard) -> bool:
    return _looks_up(guard) if isinstance(guard, GuardCall) else True


def _looks_up(call: GuardCall | CallAction) -> bool:
    return not all(isinstance(value, LiteralArgument) for _, value in call.arguments)


def calls_by_text(chart: Chart) -> set[str]:
    """Actions whose arguments are looked up: they keep their text as name."""
    calls = [done.action for done in walk.actions(chart) if isinstance(done.action, CallAction)]
    return {format_call(call.name, call.arguments) for call in calls if _looks_up(call)}

"""Charts made by chance: hierarchy, regions, histories, finals, every kind of transition, in all directions."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from rawko.chart import Chart, parse_chart

Choose = Callable[[int], int]
"""A number from 0 up to but not including the argument."""

MAX_STATES = 16
GUARDS = ("ready", "has_agent(name=event.output.mode) and not max_iterations_reached", "not full")
ACTIONS = ("note", ["assign_decision", "log_max_iterations", "clear_error"], {"raise": "TICK"})
EVENTS = ("GO", "STOP", "A_RATHER_LONG_EVENT_NAME", "TICK")


class Maker:
    """One chart, made of choices."""

    def __init__(self, choose: Choose) -> None:
        self._choose = choose
        self._count = 0
        self._names: list[str] = []
        self._open: list[dict[str, Any]] = []
        self._regions: dict[str, tuple[str, ...]] = {}

    def text(self) -> str:
        """The chart, as JSON, which is YAML."""
        root = {"name": "root", **self._inside(0, ())}
        for state in self._open:
            self._equip(state)
        return json.dumps({"statechart": {"name": "chance", "root state": root}})

    def _inside(self, depth: int, way: tuple[str, ...]) -> dict[str, Any]:
        children = [self._state(depth + 1, way) for _ in range(2 + self._choose(3))]
        inside = {"initial": children[0]["name"], "states": children}
        if depth and self._choose(4) == 0:
            deep = self._choose(2)
            self._count += 1
            name = f"h{self._count}"
            kind = "deep history" if deep else "shallow history"
            children.append({"name": name, "type": kind, "memory": children[0]["name"]})
            self._names.append(name)
            self._regions[name] = way
        return inside

    def _state(self, depth: int, way: tuple[str, ...]) -> dict[str, Any]:
        self._count += 1
        name = f"state_{self._count}" if self._choose(4) else f"a_state_with_a_longer_name_{self._count}"
        self._names.append(name)
        self._regions[name] = way
        kind = self._choose(8) if depth < 4 and self._count < MAX_STATES else 7
        state: dict[str, Any] = {"name": name}
        if kind <= 1:
            state |= self._inside(depth, way)
        elif kind == 2:
            regions = []
            for _ in range(2 + self._choose(2)):
                self._count += 1
                region = f"region_{self._count}"
                self._names.append(region)
                self._regions[region] = (*way, f"{name}/{region}")
                regions.append({"name": region, **self._inside(depth + 1, self._regions[region])})
                self._open.append(regions[-1])
            state["parallel states"] = regions
        elif kind == 3:
            return {"name": name, "type": "final"}
        self._open.append(state)
        return state

    def _equip(self, state: dict[str, Any]) -> None:
        """Transitions, rows, an invocation, timers."""
        choose = self._choose
        if choose(3) == 0:
            state["on entry"] = ACTIONS[choose(3)]
        if choose(6) == 0:
            state["on exit"] = ACTIONS[choose(3)]
        state["transitions"] = [self._transition(state["name"], True) for _ in range(choose(4))]
        if choose(5) == 0:
            ways = [self._transition(state["name"], False) for _ in range(1 + choose(2))]
            state["invoke"] = {"src": "fetch", "id": f"i_{state['name']}", "on done": ways, "on error": ways[0]}
        if choose(6) == 0:
            state["after"] = {"10s": self._transition(state["name"], False)}

    def _transition(self, source: str, has_event: bool) -> dict[str, Any]:
        choose = self._choose
        found: dict[str, Any] = {"event": EVENTS[choose(4)]} if has_event else {}
        if choose(5):
            found["target"] = self._target(source)
        elif has_event and choose(2):
            found["target"] = source
        if choose(3) == 0:
            found["guard"] = GUARDS[choose(3)]
        if choose(3) == 0 or "target" not in found:
            found["action"] = ACTIONS[choose(3)]
        if choose(6) == 0 and "target" in found and source != found["target"]:
            found["internal"] = True
        return found

    def _target(self, source: str) -> str:
        """Any state but one in another region of the same parallel state."""
        near = [name for name in self._names if self._fits(self._regions[source], self._regions[name])]
        return near[self._choose(len(near))]

    @staticmethod
    def _fits(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
        return all(
            first == second or first.split("/")[0] != second.split("/")[0]
            for first, second in zip(one, other, strict=False)
        )


def one_state(state: str, event: str, log: str) -> Chart:
    """A chart of one state with any texts as its name, its event and its log line."""
    name, event, log = (json.dumps(text, ensure_ascii=False) for text in (state, event.replace("*", "+"), log))
    return parse_chart(
        f"statechart: {{name: {name}, root state: {{name: the root, initial: {name}, states: [{{name: {name}, "
        f"on entry: {{log: {log}}}, transitions: [{{event: {event}, target: {name}}}]}}]}}}}"
    )

"""Random charts of parallel regions that share some of what they do: events, questions, raised events, timers, ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import yaml
from hypothesis import strategies as st

from rawko.chart import parse_chart
from rawko.chart.definition import Chart
from rawko.proving import Move, Outcome


def grid(regions: int, states: int, more: str = "") -> str:
    """Regions that share nothing, each a ring of states: `states` to the power of `regions` configurations.

    Args:
        more: Keys of each transition beside event and target.
    """
    lines = ["statechart:", "  name: grid", "  root state:", "    name: grid", "    initial: p", "    states:"]
    lines += ["      - name: p", "        parallel states:"]
    for region in range(regions):
        lines += [f"          - name: r{region}", f"            initial: r{region}_0", "            states:"]
        for place in range(states):
            move = f"{{event: E{region}, target: r{region}_{(place + 1) % states}{more}}}"
            lines.append(f"              - {{name: r{region}_{place}, transitions: [{move}]}}")
    return "\n".join(lines) + "\n"


def is_replayed(way: Sequence[tuple[Move, Outcome]]) -> bool:
    """Two timers may be due at one time, and an event that the machine sends to itself may be overtaken."""
    return not any(move.kind == "timer" or outcome.sent for move, outcome in way)


@st.composite
def region_charts(draw: st.DrawFn) -> Chart:
    count = draw(st.integers(2, 3))
    sizes = [draw(st.integers(1, 3)) for _ in range(count)]
    names = [f"r{region}_{place}" for region, size in enumerate(sizes) for place in range(size)]
    regions = [_region(draw, region, size, names) for region, size in enumerate(sizes)]
    both: dict[str, Any] = {"name": "both", "parallel states": regions, "transitions": []}
    if draw(st.booleans()):
        both["transitions"].append({"event": "CANCEL", "target": "over"})
    if draw(st.booleans()):
        both["transitions"].append({"event": "done.state.both", "target": draw(st.sampled_from(["over", "before"]))})
    if draw(st.integers(0, 3)) == 0:
        both["transitions"].append({"event": "E0", "action": {"raise": "F"}})
    before = {"name": "before", "transitions": [{"event": "GO", "target": draw(st.sampled_from(["both", "again"]))}]}
    states = [before, both, {"name": "over", "type": "final"}]
    again = {"name": "again", "transitions": [{"event": "GO", "target": "both"}]}
    root = {"name": "root", "initial": "before", "states": [*states, again]}
    return parse_chart(yaml.safe_dump({"statechart": {"name": "regions", "root state": root}}, sort_keys=False))


def _region(draw: st.DrawFn, region: int, size: int, names: list[str]) -> dict[str, Any]:
    own = [f"r{region}_{place}" for place in range(size)]
    ends = draw(st.booleans())
    targets = [*own, f"end{region}"] if ends else own
    states: list[dict[str, Any]] = []
    for name in own:
        state: dict[str, Any] = {"name": name, "transitions": []}
        for _ in range(draw(st.integers(0, 2))):
            state["transitions"].append(_transition(draw, region, targets, names))
        extra = draw(st.integers(0, 9))
        if extra == 0:
            state["after"] = {draw(st.sampled_from(["1s", "2s"])): draw(st.sampled_from(targets))}
        elif extra == 1:
            state["invoke"] = {"id": f"i{name}", "src": "work", "on done": {"target": draw(st.sampled_from(targets))}}
        elif extra == 2:
            state["always"] = [{"guard": "g", "target": draw(st.sampled_from(targets))}]
        elif extra == 3:
            state["on entry"] = {"raise": f"E{draw(st.integers(0, 2))}"}
        states.append(state)
    if ends:
        states.append({"name": f"end{region}", "type": "final"})
    return {"name": f"r{region}", "initial": own[0], "states": states}


def _transition(draw: st.DrawFn, region: int, targets: list[str], names: list[str]) -> dict[str, Any]:
    event = draw(st.sampled_from([f"E{region}", f"E{region}", f"E{region}", "S", "F"]))
    found: dict[str, Any] = {"event": event}
    choice = draw(st.integers(0, 11))
    found["target"] = draw(st.sampled_from(targets if choice else names))
    if choice == 1:
        found["guard"] = f"in_state('{draw(st.sampled_from(names))}')"
    elif choice == 2:
        found["guard"] = "h"
    elif choice == 3:
        found["action"] = {"raise": draw(st.sampled_from(["E0", "F", "S"]))}
    elif choice == 4:
        found["action"] = {"send": {"event": draw(st.sampled_from(["S", "F"]))}}
    return found


@st.composite
def apart_charts(draw: st.DrawFn) -> Chart:
    """Charts whose regions mostly share nothing, and sometimes an event, a question, a timer, an end."""
    count = draw(st.integers(2, 3))
    sizes = [draw(st.integers(1, 3)) for _ in range(count)]
    names = [f"r{region}_{place}" for region, size in enumerate(sizes) for place in range(size)]
    regions = [_own_region(draw, region, size, names) for region, size in enumerate(sizes)]
    transitions: list[dict[str, Any]] = []
    if draw(st.booleans()):
        transitions.append({"event": "CANCEL", "target": draw(st.sampled_from(["over", "before"]))})
    extra = draw(st.integers(0, 9))
    if extra == 0:
        transitions.append({"event": "done.state.both", "target": "over"})
    elif extra == 1:
        transitions.append({"event": "PUSH", "action": {draw(st.sampled_from(["raise", "send"])): _sent("E0")}})
    elif extra == 2:
        transitions.append({"event": "JUMP", "target": draw(st.sampled_from(names))})
    elif extra == 3:
        transitions.append({"event": "E1", "guard": "g", "target": "before"})
    both: dict[str, Any] = {"name": "both", "parallel states": regions, "transitions": transitions}
    extra = draw(st.integers(0, 9))
    if extra == 0:
        both["after"] = {"3s": draw(st.sampled_from(["over", "before"]))}
    elif extra == 1:
        both["invoke"] = {"id": "all", "src": "work", "on done": {"target": "over"}, "on error": {"target": "before"}}
    elif extra == 2:
        both["on entry"] = {"send": _sent(draw(st.sampled_from(["E0", "X"])))}
    entry = draw(st.sampled_from(["both", "both", *names]))
    before = {"name": "before", "transitions": [{"event": "GO", "target": entry}, {"event": "BACK", "target": "again"}]}
    again = {"name": "again", "transitions": [{"event": "GO", "target": draw(st.sampled_from(["both", *names]))}]}
    states = [before, both, {"name": "over", "type": "final"}, again]
    root = {"name": "root", "initial": draw(st.sampled_from(["before", "both"])), "states": states}
    return parse_chart(yaml.safe_dump({"statechart": {"name": "regions", "root state": root}}, sort_keys=False))


def _sent(event: str) -> dict[str, Any]:
    return {"event": event}


def _own_region(draw: st.DrawFn, region: int, size: int, names: list[str]) -> dict[str, Any]:
    own = [f"r{region}_{place}" for place in range(size)]
    targets = [*own, f"end{region}"] if draw(st.integers(0, 3)) == 0 else own
    states: list[dict[str, Any]] = []
    for name in own:
        state: dict[str, Any] = {"name": name, "transitions": []}
        for _ in range(draw(st.integers(0, 2))):
            state["transitions"].append(_own_transition(draw, region, targets, names))
        extra = draw(st.integers(0, 11))
        if extra in (0, 1):
            state["after"] = {draw(st.sampled_from(["1s", "2s"])): draw(st.sampled_from(targets))}
        elif extra == 2:
            state["invoke"] = {"id": f"i{name}", "src": "work", "on done": {"target": draw(st.sampled_from(targets))}}
            if draw(st.booleans()):
                state["invoke"]["on error"] = {"target": draw(st.sampled_from(targets)), "guard": f"g{region}"}
        elif extra == 3:
            state["always"] = [{"target": draw(st.sampled_from(targets))}]
        elif extra == 4:
            state["on entry"] = {draw(st.sampled_from(["raise", "send"])): _sent(f"E{region}")}
        states.append(state)
    states += [{"name": name, "type": "final"} for name in targets if name not in own]
    if draw(st.integers(0, 14)) == 0:
        states.append({"name": f"h{region}", "type": "deep history"})
        states[0]["transitions"].append({"event": f"H{region}", "target": f"h{region}"})
    return {"name": f"r{region}", "initial": own[0], "states": states}


def _own_transition(draw: st.DrawFn, region: int, targets: list[str], names: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {"event": draw(st.sampled_from([f"E{region}", f"E{region}", f"F{region}"]))}
    found["target"] = draw(st.sampled_from(targets))
    choice = draw(st.integers(0, 39))
    if choice == 0:
        found["guard"] = f"in_state('{draw(st.sampled_from(names))}')"
    elif choice < 8:
        found["guard"] = draw(st.sampled_from([f"g{region}", f"g{region}", "g"]))
    elif choice < 11:
        found["action"] = {"raise": {"event": draw(st.sampled_from([f"F{region}", "X"]))}}
    elif choice < 13:
        found["action"] = {"send": _sent(f"F{region}")}
    elif choice == 13:
        found["event"] = draw(st.sampled_from(["S", "CANCEL", "*"]))
    elif choice == 14:
        found["target"] = draw(st.sampled_from([*names, "over"]))
    elif choice == 15:
        found["action"] = {"raise": {"event": "E0"}}
    return found

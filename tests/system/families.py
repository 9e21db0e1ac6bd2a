"""Random trees of machines: a parent, children that it invokes or spawns, grandchildren, timers, messages, failures.

Everything that a machine does by itself is bounded by its context's `count`, so that every tree comes to rest.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from hypothesis import strategies as st

from rawko import (
    ActorFailed,
    Bindings,
    Chart,
    ChildMachine,
    append,
    assign,
    cancel,
    child_machine,
    emit,
    immediate,
    log,
    parse_chart,
    raise_,
    send,
    spawn,
    stop,
)
from rawko.interpreter import Updates

EVENTS = ("A", "B", "C")
LIMIT = 8
"""Things that a machine does by itself at most."""
ROOM = 20
"""Transitions that a machine takes at most: a child that is invoked anew begins to count anew."""
LEVELS = 3
INPUT: dict[str, Any] = {"count": 0, "seen": [], "kept": {}}


class Family:
    """Charts by level: the root's is the last one."""

    def __init__(self, charts: tuple[Chart, ...]) -> None:
        self.charts = charts

    def __repr__(self) -> str:
        return "a family of machines"

    def bindings(self, job: Callable[..., Any]) -> Bindings:
        """Functions of the root's chart; `job` is the async function that all machines invoke."""
        return self._bindings(LEVELS - 1, job)

    def _bindings(self, level: int, job: Callable[..., Any]) -> Bindings:
        bindings = _functions()
        bindings.add("actor", "job", job)
        bindings.add("actor", "now", immediate(_now))
        if level:
            below = self._bindings(level - 1, job)

            @child_machine
            def kid(input: Any) -> ChildMachine:
                what = _what(input)
                if what == "broken":
                    raise ActorFailed({"category": "unknown", "message": "no machine for that"})
                return ChildMachine(self.charts[level - 1], below, INPUT, _picked if what == "picked" else None)

            bindings.add("actor", "kid", kid)
        else:
            bindings.add("actor", "kid", immediate(_now))
        return bindings

    @property
    def chart(self) -> Chart:
        return self.charts[-1]


def _what(input: Any) -> Any:
    return input["what"] if isinstance(input, Mapping) else input


def _now(input: Any) -> Any:
    if _what(input) == "broken":
        raise ActorFailed("no answer to that")
    return {"answer": input}


def _picked(output: Any) -> Any:
    if output is None:
        raise ActorFailed({"category": "unknown", "message": "nothing came of it"})
    return output["count"]


def _functions() -> Bindings:
    bindings = Bindings()

    @bindings.action
    def note(context: Any, event: Any, what: str = "") -> Updates:
        return append("seen", [event.name, what, event.at_ms])

    @bindings.action
    def tell(context: Any, event: Any, to: str, name: str, delay: int = 0) -> Updates:
        if context.count >= LIMIT:
            return None
        return assign(count=context.count + 1), send(name, {"n": context.count}, to=to or None, delay_ms=delay)

    @bindings.action
    def later(context: Any, event: Any, name: str) -> Updates:
        if context.count >= LIMIT:
            return None
        return assign(count=context.count + 1), send(name, delay_ms=750, id="later")

    @bindings.action
    def call_off(context: Any, event: Any) -> Updates:
        return cancel("later"), log("called off")

    @bindings.action
    def raise_one(context: Any, event: Any, name: str) -> Updates:
        return None if context.count >= LIMIT else (assign(count=context.count + 1), raise_(name))

    @bindings.action
    def begin(context: Any, event: Any, src: str, input: str = "") -> Updates:
        if context.count >= LIMIT or context.kept.get(src):
            return None
        return assign(count=context.count + 1, kept={**context.kept, src: True}), spawn(src, id=src, input=input)

    @bindings.action
    def end(context: Any, event: Any, src: str) -> Updates:
        return assign(kept={**context.kept, src: False}), stop(src)

    @bindings.action
    def bump(context: Any, event: Any) -> Updates:
        return assign(count=context.count + 1)

    @bindings.action
    def shout(context: Any, event: Any) -> Updates:
        return emit("SHOUT", n=context.count), log("shouted", level="debug", n=context.count)

    @bindings.action
    def fail(context: Any, event: Any) -> Updates:
        if context.count % 2:
            raise ValueError("odd")
        return assign(count=context.count + 1)

    @bindings.guard
    def few(context: Any, event: Any) -> bool:
        return bool(context.count < LIMIT)

    @bindings.guard
    def room(context: Any, event: Any) -> bool:
        return len(context.seen) < ROOM

    @bindings.guard
    def even(context: Any, event: Any) -> bool:
        return len(context.seen) % 2 == 0

    @bindings.output
    def result(context: Any, event: Any) -> Any:
        return {"count": context.count, "last": event.name}

    return bindings


# ---------------------------------------------------------------- charts


@st.composite
def actions(draw: st.DrawFn) -> list[Any]:
    name = draw(st.sampled_from(EVENTS))
    some = [
        f"tell(to='parent', name='{name}')",
        f"tell(to='kid', name='{name}')",
        f"tell(to='own_s1', name='{name}')",
        f"tell(to='', name='{name}')",
        f"tell(to='root/kid', name='{name}')",
        f"tell(to='parent', name='{name}', delay=500)",
        f"tell(to='', name='{name}', delay=250)",
        f"later(name='{name}')",
        "call_off",
        f"raise_one(name='{name}')",
        "begin(src='kid')",
        "begin(src='job')",
        "begin(src='now')",
        "end(src='kid')",
        "end(src='job')",
        "shout",
        "fail",
    ]
    return [f"note(what='{name}')", *draw(st.lists(st.sampled_from(some), max_size=2))]


@st.composite
def states(draw: st.DrawFn, name: str, names: list[str], level: int) -> dict[str, Any]:
    found: dict[str, Any] = {"name": name, "on entry": f"note(what='+{name}')"}
    targets = st.sampled_from([None, *names])
    if draw(st.integers(0, 3)) == 0:
        found["initial"] = f"{name}a"
        found["states"] = [
            {"name": f"{name}a", "transitions": [{"event": draw(st.sampled_from(EVENTS)), "target": f"{name}b"}]},
            {"name": f"{name}b"},
            {"name": f"{name}h", "type": draw(st.sampled_from(["deep history", "shallow history"]))},
        ]
    if draw(st.integers(0, 2)) == 0:
        found["after"] = {f"{draw(st.sampled_from([250, 500, 900]))}ms": _transition(draw, targets, is_still=False)}
    kind = draw(st.sampled_from(["none", "kid", "kid", "kid", "job", "now", "each"]))
    if kind == "each":
        src, join = draw(st.sampled_from(["job", "now", "kid"])), draw(st.sampled_from(["all", "any", "settled"]))
        found["invoke"] = {"id": f"own_{name}", "src": src, "for each": [1, 2], "join": join}
    elif kind != "none":
        given = draw(st.sampled_from(["", "", "picked", "broken"]))
        id = "kid" if kind == "kid" and name == "s0" else f"own_{name}"
        found["invoke"] = {"id": id, "src": kind, "input": {"what": given}}
        if draw(st.booleans()):
            found["invoke"]["timeout"] = "800ms"
    if kind != "none":
        if draw(st.booleans()):
            found["invoke"]["on done"] = _bounded(draw, targets)
        if draw(st.integers(0, 3)):
            found["invoke"]["on error"] = _bounded(draw, targets)
    if draw(st.integers(0, 4)) == 0:
        found["always"] = [{**_bounded(draw, st.sampled_from(names)), "guard": "few and even"}]
    found["transitions"] = [
        {"event": draw(st.sampled_from(EVENTS)), **_transition(draw, targets)} for _ in range(draw(st.integers(1, 3)))
    ]
    return found


def _transition(draw: st.DrawFn, targets: st.SearchStrategy[Any], *, is_still: bool = True) -> dict[str, Any]:
    found: dict[str, Any] = {"guard": "room", "action": draw(actions())}
    target = draw(targets)
    if target is not None or not is_still:
        found["target"] = target or "s0"
    return found


def _bounded(draw: st.DrawFn, targets: st.SearchStrategy[Any]) -> dict[str, Any]:
    """A transition that the machine takes by itself."""
    found = _transition(draw, targets)
    return {**found, "guard": "few", "action": ["bump", *found["action"]]}


@st.composite
def charts(draw: st.DrawFn, level: int) -> Chart:
    """The chart of one level."""
    count = draw(st.integers(2, 3))
    names = [f"s{place}" for place in range(count)]
    made = [draw(states(name, names, level)) for name in names]
    targets = [*names, *(f"{one['name']}h" for one in made if "states" in one)]
    if draw(st.booleans()):
        made.append({"name": "over", "type": "final", "output": "result"})
        targets.append("over")
    root: dict[str, Any] = {"name": "top", "initial": "s0", "states": made, "output": "result"}
    more = [
        {"event": "error.invoke.*", "action": "note(what='failed')"},
        {"event": "error.execution", "action": "note(what='broke')"},
        {"event": "error.communication", "action": "note(what='lost')"},
        {"event": "done.invoke.*", **_bounded(draw, st.sampled_from(targets))},
        {"event": draw(st.sampled_from(EVENTS)), **_transition(draw, st.sampled_from(targets))},
    ]
    root["transitions"] = [one for one in more if draw(st.integers(0, 2))]
    text = json.dumps({"statechart": {"name": f"level{level}", "root state": root}})
    return parse_chart(text)


@st.composite
def families(draw: st.DrawFn) -> Family:
    """A tree of machines, before it starts."""
    return Family(tuple(draw(charts(level)) for level in range(LEVELS)))


# ---------------------------------------------------------------- what happens to it

commands = st.one_of(
    st.tuples(st.just("send"), st.integers(0, 3), st.sampled_from(EVENTS)),
    st.tuples(st.just("send"), st.just(0), st.sampled_from(EVENTS)),
    st.tuples(st.just("both"), st.integers(0, 1), st.sampled_from(EVENTS)),
    st.tuples(st.just("advance"), st.sampled_from([0, 250, 500, 1000]), st.just("")),
    st.tuples(st.just("done"), st.integers(0, 3), st.just("")),
    st.tuples(st.just("failed"), st.integers(0, 3), st.just("")),
    st.tuples(st.just("yielded"), st.integers(0, 3), st.sampled_from(EVENTS)),
)
"""(what, which machine, actor or milliseconds, event)."""

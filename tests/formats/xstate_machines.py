"""Random machines in XState's own JSON, in all the ways in which it can be said; they load in XState as they are."""

from __future__ import annotations

from random import Random
from typing import Any

EVENTS = ("A", "B", "c.one", "c.two.three")
DESCRIPTORS = (*EVENTS, "c.*", "c.two.*", "*")
GUARDS: tuple[Any, ...] = ("g0", "g1", {"type": "g2"}, {"type": "g3", "params": {"n": 1}})
ACTIONS: tuple[Any, ...] = ("a0", "a1", {"type": "a2"}, {"type": "a3", "params": {"to": ["x", {"y": None}]}})

State = dict[str, Any]


class MachineMaker:
    """One random machine, by seed.

    Left out is what no import can bridge, or what it tells as lost (docs/formats.md): the root as a target, history
    states as targets from inside their parent, `always` outside of leaves and two timers of one length in one state.
    """

    def __init__(self, seed: object) -> None:
        self._random = Random(repr(seed))
        self._states: list[tuple[tuple[str, ...], State]] = []
        self._invokes = 0

    def machine(self) -> dict[str, Any]:
        root: State = {"id": "m", **self._state((), self._random.choice(("compound", "compound", "parallel")))}
        for path, state in self._states:
            self._moves(path, state)
        return root

    # ------------------------------------------------------------ states

    def _state(self, path: tuple[str, ...], kind: str) -> State:
        random = self._random
        state: State = {}
        self._states.append((path, state))
        if path and random.random() < 0.4:
            state["id"] = f"id_{len(self._states)}"
        for hook in ("entry", "exit"):
            if random.random() < 0.5:
                state[hook] = self._actions()
        if kind == "final":
            state["type"] = "final"
        if kind in ("compound", "parallel"):
            self._children(path, state, kind)
        return state

    def _children(self, path: tuple[str, ...], state: State, kind: str) -> None:
        random = self._random
        keys = random.sample(("one", "two", "three", "four", "2", "10", "x y"), random.randint(2, 3))
        kinds = ["atomic", "atomic", "final", *(["compound", "parallel"] if len(path) < 3 else [])]
        if kind == "parallel":
            state["type"] = "parallel"
            kinds.remove("final")
        state["states"] = {key: self._state((*path, key), random.choice(kinds)) for key in keys}
        if kind == "compound":
            state["initial"] = random.choice(keys)
        if random.random() < 0.4:
            history: State = {"type": "history", "history": random.choice(("shallow", "deep"))}
            if kind == "compound" and random.random() < 0.5:
                history["target"] = random.choice(keys)
            state["states"]["hist"] = history
            self._states.append(((*path, "hist"), history))

    def _actions(self) -> Any:
        chosen = self._random.choices(ACTIONS, k=self._random.randint(1, 3))
        return chosen[0] if len(chosen) == 1 and self._random.random() < 0.5 else chosen

    # ------------------------------------------------------------ moves

    def _moves(self, path: tuple[str, ...], state: State) -> None:
        if state.get("type") in ("history", "final"):
            return
        random = self._random
        on = {event: self._outcomes(path) for event in random.sample(DESCRIPTORS, random.randint(0, 3))}
        if on:
            state["on"] = on
        if "initial" in state and random.random() < 0.5:
            state["onDone"] = self._outcomes(path)
        if path and "states" not in state and random.random() < 0.2 and self._may_be_eventless():
            state["always"] = {**self._move(path), "guard": random.choice(GUARDS)}
        if random.random() < 0.25:
            delays = random.sample(range(5, 60), random.randint(1, 2))
            state["after"] = {str(delay): self._outcomes(path) for delay in delays}
        if random.random() < 0.25:
            state["invoke"] = self._invoke(path)

    def _may_be_eventless(self) -> bool:
        """One alone in parallel machines: XState asks several in the order in which their states were entered."""
        return not any(state.get("type") == "parallel" for _, state in self._states) or not any(
            "always" in state for _, state in self._states
        )

    def _invoke(self, path: tuple[str, ...]) -> State:
        self._invokes += 1
        found: State = {"id": f"actor{self._invokes}", "src": "work"}
        for key in ("onDone", "onError"):
            if self._random.random() < 0.8:
                found[key] = self._outcomes(path)
        if "onError" not in found:  # else an actor that fails ends XState's machine, as it does ours: see walks
            found["onError"] = {}
        return found

    def _outcomes(self, path: tuple[str, ...]) -> Any:
        kind = self._random.random()
        if kind < 0.3 and (target := self._target(path)) is not None:
            return target
        if kind < 0.6:
            return self._move(path)
        return [self._move(path) for _ in range(self._random.randint(1, 3))]

    def _move(self, path: tuple[str, ...]) -> State:
        random = self._random
        move: State = {}
        if random.random() < 0.5:
            move["guard"] = random.choice(GUARDS)
        if random.random() < 0.8 and (target := self._target(path)) is not None:
            move["target"] = [target] if random.random() < 0.2 else target
        if random.random() < 0.5:
            move["actions"] = self._actions()
        if path and random.random() < 0.4:
            move["reenter"] = random.random() < 0.7
        return move

    def _target(self, path: tuple[str, ...]) -> str | None:
        """A state, in one of the ways in which XState finds it from there."""
        found = [to for to, state in self._states if to and self._may_lead(path, to, state)]
        if not found:
            return None
        to = self._random.choice(found)
        state = dict(self._states)[to]
        ways = [f"#{state['id']}"] if "id" in state else [f"#m.{'.'.join(to)}"]
        if path and to[: len(path) - 1] == path[:-1] and len(to) >= len(path):
            ways.append(".".join(to[len(path) - 1 :]))
        if to[: len(path)] == path and len(to) > len(path):
            ways.append(f".{'.'.join(to[len(path) :])}")
        return self._random.choice(ways)

    @staticmethod
    def _may_lead(path: tuple[str, ...], to: tuple[str, ...], state: State) -> bool:
        return state.get("type") != "history" or path[: len(to) - 1] != to[:-1]

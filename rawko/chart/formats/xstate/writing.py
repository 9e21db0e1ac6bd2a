"""Exports a `Chart` as JSON that XState 5's `createMachine` loads and runs.

Every state has its name as key and as id, and every target is `#name`, so that names are the same on both sides.
`candidates` writes transitions, `functions` guards and actions. What JSON or XState cannot express is a loss.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rawko.chart.definition import AssignAction, Chart, CodeValue, Invoke, Json, State
from rawko.chart.formats.depth import require_writable
from rawko.chart.formats.exchange import Exported, Losses
from rawko.chart.formats.xstate.candidates import Candidates
from rawko.chart.formats.xstate.functions import Functions
from rawko.chart.formats.xstate.tree import escaped, is_array_index
from rawko.chart.lint.selection import selection_differences


def export_xstate(chart: Chart) -> Exported:
    """The chart as XState's machine JSON, with the losses."""
    require_writable(chart)
    writer = _Writer(chart)
    text = json.dumps(writer.machine(), indent=2, ensure_ascii=False)
    return Exported(text + "\n", writer.losses.sorted)


class _Writer:
    def __init__(self, chart: Chart) -> None:
        self._chart = chart
        self.losses = Losses()
        self._functions = Functions(self.losses)
        self._candidates = Candidates(chart, self._functions, self.losses)

    def machine(self) -> dict[str, Any]:
        chart = self._chart
        root = self._state(chart[chart.root])
        for what, message in self._lost_of_the_chart():
            self.losses.add(chart.position, f"{what} is left out: {message}")
        if chart.selection == "scxml":
            for differing in selection_differences(chart):
                self.losses.add(differing.outer.position, f"{differing.text}: XState takes the inner one alone")
        return {
            "id": root.pop("id"),
            **({"version": chart.version} if chart.version else {}),
            **({"description": chart.description} if chart.description and not chart[chart.root].description else {}),
            **root,
        }

    def _lost_of_the_chart(self) -> Iterator[tuple[str, str]]:
        chart = self._chart
        if chart.name != chart.root:
            yield f"the name {chart.name!r}", f"a machine has its root's id, {chart.root!r}"
        if chart.context:
            yield f"context {chart.context!r}", "give the first context to createMachine"
        if chart.events:
            yield "the declaration of events", "XState declares them as TypeScript types"
        if chart.preamble:
            yield "the preamble", "it is Python"
        if chart.errors == "scxml":
            yield "'errors: scxml'", "an XState machine stops when an action fails"

    # ------------------------------------------------------------ states

    def _state(self, state: State) -> dict[str, Any]:
        context, entry = self._context(state)
        found = _given(
            id=state.name,
            type={"parallel": "parallel", "final": "final"}.get(state.kind, "history" if state.is_history else None),
            description=state.description,
            tags=list(state.tags),
            meta=_json(state.meta),
            context=context,
            entry=self._functions.actions(entry),
            exit=self._functions.actions(state.on_exit),
        )
        found |= self._defaults(state)
        found |= self._candidates.of(state)
        if state.invoke:
            outcomes = found.get("invoke", {})
            found["invoke"] = [self._invoke(invoke, outcomes.get(invoke.id, {})) for invoke in state.invoke]
        found |= self._output(state)
        self._tell(state)
        if state.children:
            found["states"] = {name: self._state(self._chart[name]) for name in state.children}
        return found

    def _context(self, state: State) -> tuple[dict[str, Json], Sequence[Any]]:
        """The machine's context: the literals that the root assigns first."""
        first = state.on_entry[0] if state.on_entry else None
        if state.parent is None and isinstance(first, AssignAction):
            return _json(dict(first.values)), state.on_entry[1:]
        return {}, state.on_entry

    def _defaults(self, state: State) -> dict[str, Any]:
        if state.is_history:
            if state.memory_actions:
                self._lose(state, "actions of its memory are left out: XState's history has none")
            targets = [f"#{escaped(name)}" for name in state.memory]
            return {"history": state.kind.split()[0], **_given(target=targets[0] if len(targets) == 1 else targets)}
        if state.kind != "compound":
            return {}
        child = self._initial(state)
        actions = self._functions.actions(state.initial_actions)
        return {"initial": {"target": child, "actions": actions} if actions else child}

    def _initial(self, state: State) -> str:
        """The initial child. XState requires one even for a state that is never entered by default."""
        if not state.initial:
            return next((name for name in state.children if not self._chart[name].is_history), state.children[0])
        if len(state.initial) > 1 or state.initial[0] not in state.children:
            self._lose(state, "its initial is no single child: XState enters the child that holds the first of them")
        path = (state.initial[0], *self._chart.ancestors(state.initial[0]))
        return next(name for name in path if name in state.children)

    def _invoke(self, invoke: Invoke, outcomes: Mapping[str, Any]) -> dict[str, Any]:
        found = {"id": invoke.id, "src": invoke.src}
        where = f"invoke {invoke.id!r}"
        if isinstance(invoke.input, (str, CodeValue)):
            named = invoke.input.code if isinstance(invoke.input, CodeValue) else invoke.input
            self.losses.add(invoke.position, f"{where}: input {named!r} is left out: JSON holds no functions")
        elif invoke.input is not None:
            found["input"] = _json(invoke.input)
        if invoke.timeout is not None:
            self.losses.add(invoke.position, f"{where}: its timeout is left out: XState has none")
        for key, is_said in (("finalize", invoke.finalize), ("autoforward", invoke.autoforward)):
            if is_said:
                self.losses.add(invoke.position, f"{where}: {key!r} is left out: XState has none")
        if invoke.for_each is not None:
            self.losses.add(invoke.position, f"{where}: 'for each' is left out: XState invokes one actor")
        if invoke.on_restore != "restart":
            self.losses.add(invoke.position, f"{where}: 'on restore' is left out: XState restarts invocations")
        return {**found, **outcomes}

    def _output(self, state: State) -> dict[str, Any]:
        if state.output is None:
            return {}
        if isinstance(state.output, (str, CodeValue)):
            named = state.output.code if isinstance(state.output, CodeValue) else state.output
            self._lose(state, f"output {named!r} is left out: JSON holds no functions")
            return {}
        return {"output": _json(state.output)}

    def _tell(self, state: State) -> None:
        contracts = [state.contract, *(transition.contract for transition in state.transitions)]
        if any(contracts):
            self._lose(state, "contracts are left out: XState has none")
        if any(timer.on_restore != "original" for timer in state.after):
            self._lose(state, "'on restore' of timers is left out: XState has one way")
        names = list(state.children)
        if any(map(is_array_index, names)) and names != sorted(names, key=_in_javascript):
            self._lose(state, "JavaScript orders its children otherwise: names that are numbers come first")

    def _lose(self, state: State, message: str) -> None:
        self.losses.add(state.position, f"state {state.name!r}: {message}")


def _in_javascript(name: str) -> tuple[int, int]:
    return (0, int(name)) if is_array_index(name) else (1, 0)


def _given(**values: Any) -> dict[str, Any]:
    """The given keys with values that are not empty."""
    return {key: value for key, value in values.items() if value not in (None, "", [], {}, ())}


def _json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _json(item) for key, item in value.items()}
    return [_json(item) for item in value] if isinstance(value, (list, tuple)) else value

"""Compiles the input of an invocation: for one call, or for one call per item of a list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from rawko.chart import definition as d
from rawko.interpreter.bindings import Bindings, signature_of
from rawko.interpreter.compiled.functions import compile_value, resolve
from rawko.interpreter.errors import BindingError

Compute = Callable[[Any, Any], Any]

_OF_AN_ITEM: Final = ("item", "index")
"""Arguments that the input function of an item may take after (context, event)."""


def compile_input(invoke: d.Invoke, bindings: Bindings, chart: d.Chart) -> Compute | None:
    """The function that computes an invocation's input when its state is entered; None if the invocation has no input.

    Raises:
        BindingError: A name is not bound, or its function takes other arguments.
    """
    if invoke.for_each is not None:
        return _compile_items(invoke, invoke.for_each, bindings, chart)
    return None if invoke.input is None else compile_value(invoke.input, "input", bindings, invoke.position)


def _compile_items(invoke: d.Invoke, each: d.ForEach, bindings: Bindings, chart: d.Chart) -> Compute:
    """The input of a call per item, as `rawko.runtime.fan_out` reads it:

        {"id": "lanes", "src": "run_lane", "all_items": ["a", "b"], "all_inputs": [{"lane": "a"}, {"lane": "b"}],
         "join": "any", "quorum": 0, "concurrency": 2, "on_restore": "restart", "tells": False}

    Without an input function the input of each call is its item, and "all_inputs" is None. "tells": whether a
    transition of the chart names the event `each.invoke.<id>`, which reports the end of one item.
    """
    find_items = _compile_list(each.items, invoke, bindings)
    find_input = None if invoke.input is None else _compile_item_input(invoke, bindings)
    find_concurrency = _compile_concurrency(each.concurrency, invoke, bindings)
    named = {f"each.invoke.{invoke.id}", "each.invoke.*", "each.*"}
    constant = {
        "id": invoke.id,
        "src": invoke.src,
        "join": each.join,
        "quorum": each.quorum,
        "on_restore": invoke.on_restore,
        "tells": any(not named.isdisjoint(transition.events) for transition in chart.transitions),
    }

    def compute(context: Any, event: Any) -> dict[str, Any]:
        items = find_items(context, event)
        if isinstance(items, (str, bytes)) or not isinstance(items, Sequence):
            raise ValueError(f"'for each' of invoke {invoke.id!r} came to {items!r:.60}; accepted: a list")
        inputs = None
        if find_input is not None:
            inputs = [find_input(context, event, item, index) for index, item in enumerate(items)]
        concurrency = find_concurrency(context, event)
        return {**constant, "all_items": items, "all_inputs": inputs, "concurrency": concurrency}

    return compute


def _compile_list(items: str | d.Reference | tuple[Any, ...], invoke: d.Invoke, bindings: Bindings) -> Compute:
    if isinstance(items, d.Reference):
        return lambda context, event: resolve(items, context, event)
    if isinstance(items, str):
        return compile_value(items, "input", bindings, invoke.position)
    return compile_value(list(items), "input", bindings, invoke.position)


def _compile_item_input(invoke: d.Invoke, bindings: Bindings) -> Callable[[Any, Any, Any, int], Any]:
    """The bound function, called with those of `item` and `index` that it takes."""
    function = compile_value(invoke.input, "input", bindings, invoke.position)
    signature = signature_of(function)
    missing = sorted(signature.required - set(_OF_AN_ITEM))
    if missing:
        message = (
            f"input {invoke.input!r} needs {', '.join(map(repr, missing))}; with 'for each' it is given item, index"
        )
        raise BindingError(
            f"{invoke.position}: {message}", name=str(invoke.input), kind="input", position=invoke.position
        )
    taken = [name for name in _OF_AN_ITEM if signature.accepted is None or name in signature.accepted]

    def compute(context: Any, event: Any, item: Any, index: int) -> Any:
        given = {"item": item, "index": index}
        return function(context, event, **{name: given[name] for name in taken})

    return compute


def _compile_concurrency(limit: int | str | None, invoke: d.Invoke, bindings: Bindings) -> Compute:
    if not isinstance(limit, str):
        return lambda context, event: limit
    function = compile_value(limit, "input", bindings, invoke.position)

    def compute(context: Any, event: Any) -> int | None:
        found = function(context, event)
        if found is not None and (type(found) is not int or found < 1):
            raise ValueError(f"concurrency {limit!r} returned {found!r:.60}; accepted: 1 or more, or None for all")
        return None if found is None else int(found)

    return compute

"""What a function takes beside (context, event): read from the code of plain functions, by `inspect` of others."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import pytest

from rawko.interpreter import BindingError, Bindings
from rawko.interpreter.bindings import Signature, signature_of


def passed_on(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def call(*given: Any, **more: Any) -> Any:
        return function(*given, **more)

    return call


FUNCTIONS: dict[str, tuple[Callable[..., Any], Signature]] = {
    "two": (lambda context, event: 0, Signature(frozenset(), frozenset(), takes_old=False)),
    "keywords": (
        lambda context, event, *, limit, least=0: 0,
        Signature(frozenset({"limit", "least"}), frozenset({"limit"}), takes_old=False),
    ),
    "further positional": (
        lambda context, event, limit, least=0, /: 0,
        Signature(frozenset({"limit", "least"}), frozenset({"limit"}), takes_old=False),
    ),
    "all have defaults": (
        lambda context=None, event=None, limit=0: 0,
        Signature(frozenset({"limit"}), frozenset(), takes_old=False),
    ),
    "old": (lambda context, event, old: 0, Signature(frozenset({"old"}), frozenset(), takes_old=True)),
    "old by keyword": (
        lambda context, event, *, old=None, x: 0,
        Signature(frozenset({"old", "x"}), frozenset({"x"}), takes_old=True),
    ),
    "any keywords": (lambda context, event, x, **more: 0, Signature(None, frozenset({"x"}), takes_old=False)),
    "any": (lambda *given, **more: 0, Signature(None, frozenset(), takes_old=False)),
    "one, then any": (lambda one, *given, x: 0, Signature(frozenset({"x"}), frozenset({"x"}), takes_old=False)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_a_function_takes(name: str) -> None:
    function, takes = FUNCTIONS[name]
    assert signature_of(function) == takes
    assert signature_of(partial(function)) == takes
    assert signature_of(passed_on(function)) == takes


@pytest.mark.parametrize("make", [lambda f: f, partial, passed_on], ids=["plain", "partial", "wrapped"])
@pytest.mark.parametrize("function", [lambda: 0, lambda context: 0, lambda context, *, event: 0, lambda **given: 0])
def test_context_and_event_come_first(function: Callable[..., Any], make: Callable[[Any], Any]) -> None:
    with pytest.raises(BindingError, match=r"must take \(context, event\) first"):
        Bindings().add("guard", "g", make(function))


def test_a_signature_that_a_function_states_is_its_own() -> None:
    def stated(*given: Any) -> int:
        return 0

    stated.__signature__ = inspect.signature(lambda context, event, *, limit: 0)  # type: ignore[attr-defined]
    assert signature_of(stated).required == {"limit"}

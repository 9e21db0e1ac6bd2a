"""Phrases that check context fields, output, log, and guard expressions."""

from __future__ import annotations

from typing import Any

from rawko.chart.definition import NOWHERE
from rawko.chart.expressions.parser import parse_guard
from rawko.chart.expressions.tokens import ExpressionError
from rawko.interpreter.compiled.contracts import compile_condition
from rawko.interpreter.data.events import make_event
from rawko.interpreter.errors import BindingError
from rawko.testing.errors import ContractMistake
from rawko.testing.matching import contains, difference, is_equal, shown
from rawko.testing.phrases import PhraseBook
from rawko.testing.scene import Scene

BOOK = PhraseBook()
phrase = BOOK.add


@phrase("then", "context field {field} equals {json}", "variable {field} equals {json}")
def field_equals(scene: Scene, field: str, json: Any) -> None:
    found = scene.value_of(field)
    scene.check(is_equal(found, json), f"context field {field!r} is {shown(found)}, not {shown(json)}")


@phrase("then", "context field {field} does not equal {json}", "variable {field} does not equal {json}")
def field_does_not_equal(scene: Scene, field: str, json: Any) -> None:
    scene.check(not is_equal(scene.value_of(field), json), f"context field {field!r} is {shown(json)}")


@phrase("then", "context field {field} is null")
def field_is_null(scene: Scene, field: str) -> None:
    found = scene.value_of(field)
    scene.check(found is None, f"context field {field!r} is {shown(found)}, not null")


@phrase("then", "context field {field} is not null")
def field_is_not_null(scene: Scene, field: str) -> None:
    scene.check(scene.value_of(field) is not None, f"context field {field!r} is null")


@phrase("then", "context field {field} contains {json}")
def field_contains(scene: Scene, field: str, json: Any) -> None:
    found = scene.value_of(field)
    scene.check(
        contains(found, json), f"context field {field!r} is {shown(found)}, which does not contain {shown(json)}"
    )


@phrase("then", "the output contains {json}")
def output_contains(scene: Scene, json: Any) -> None:
    scene.check(scene.actor.is_done, "the machine has no output yet: it is not in a final configuration")
    told = difference(scene.actor.output, json, "the output")
    scene.check(told is None, str(told))


@phrase("then", "the log contains {text}")
def log_contains(scene: Scene, text: str) -> None:
    log = scene.actor.recorder.log_text
    scene.check(text in log, f"the log does not contain {text!r}; it says:\n{log or '(nothing)'}")


@phrase("then", "the log does not contain {text}")
def log_does_not_contain(scene: Scene, text: str) -> None:
    scene.check(text not in scene.actor.recorder.log_text, f"the log contains {text!r}")


@phrase("then", "expression {expression} holds")
def expression_holds(scene: Scene, expression: str) -> None:
    scene.check(_evaluate(scene, expression), f"expression {expression!r} does not hold")


@phrase("then", "expression {expression} does not hold")
def expression_does_not_hold(scene: Scene, expression: str) -> None:
    scene.check(not _evaluate(scene, expression), f"expression {expression!r} holds")


def _evaluate(scene: Scene, expression: str) -> bool:
    """The value of a guard expression in the current configuration; Python code is not accepted."""
    text = expression[1:-1] if len(expression) > 1 and expression[0] == expression[-1] == '"' else expression
    try:
        condition = compile_condition(parse_guard(text, lambda offset: NOWHERE), scene.doubles.bindings)
    except (ExpressionError, BindingError) as error:
        raise ContractMistake(f"expression {text!r}: {error}") from error
    assert condition is not None  # parse_guard returns no code
    actor = scene.actor
    last = next((s.steps[0].event for s in reversed(actor.recorder.steps) if s.steps and s.steps[0].event), None)
    event = make_event("rawko.asked", {}) if last is None else last
    with scene.doubles.unwatched():
        return bool(condition.holds(actor.context, event, actor.context, actor.matches))

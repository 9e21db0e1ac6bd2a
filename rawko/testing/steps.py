"""The phrases of contracts: sismic's, and rawko's for actors, context, guards, effects and receipts.

docs/contracts.md describes each; `BOOK` contains them all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rawko.chart.definition import NOWHERE
from rawko.chart.expressions.parser import parse_guard
from rawko.chart.expressions.tokens import ExpressionError
from rawko.interpreter.compiled.contracts import compile_condition
from rawko.interpreter.data.events import make_event
from rawko.interpreter.data.steps import Receipt
from rawko.interpreter.errors import BindingError, ContextError
from rawko.testing.errors import ContractMistake
from rawko.testing.matching import contains, difference, is_equal, shown
from rawko.testing.phrases import PhraseBook
from rawko.testing.placing import configuration_with
from rawko.testing.recorder import SentEvent
from rawko.testing.scene import Scene

BOOK = PhraseBook()
phrase = BOOK.add

# ---------------------------------------------------------------- what is given


@phrase("given", "state {state} is active")
def given_state(scene: Scene, state: str) -> None:
    if scene.is_running:
        raise ContractMistake("the machine runs already: a state can be given only before the first event")
    states = [*scene.given_states, scene.require_state(state)]
    configuration_with(scene.chart, states)  # checked now, so that an error names this line
    scene.given_states = states


@phrase("given", "context field {field} is {json}")
def given_field(scene: Scene, field: str, json: Any) -> None:
    scene.require_field(field)
    try:
        if scene.is_running:
            scene.actor.set_context(field, json)
        else:
            scene.given_context[field] = json
    except ContextError as error:
        raise ContractMistake(str(error)) from error


@phrase("given", "input {json}")
def given_input(scene: Scene, json: Any) -> None:
    if scene.is_running:
        raise ContractMistake("the machine runs already: its input can be given only before the first event")
    if not isinstance(json, Mapping):
        raise ContractMistake(f"the input is {shown(json)}; accepted: a JSON object")
    scene.given_input.update(json)


@phrase("given when", "guard {guard} is {outcome}")
def given_guard(scene: Scene, guard: str, outcome: bool) -> None:
    scene.doubles.given[scene.require_guard(guard)] = outcome


# ---------------------------------------------------------------- what happens


@phrase("given when", "I do nothing")
def do_nothing(scene: Scene) -> None:
    scene.actor.advance(0)


@phrase("given when", "I reproduce {scenario}")
def reproduce(scene: Scene, scenario: str) -> None:
    if scenario not in scene.scenarios:
        known = ", ".join(map(repr, scene.scenarios))
        raise ContractMistake(f"the feature has no scenario {scenario!r}; its scenarios: {known}")
    scene.run_nested([step for step in scene.scenarios[scenario] if step[0] != "then"])


@phrase("given when", "I repeat {step} {times} times")
def repeat(scene: Scene, step: str, times: int) -> None:
    for _ in range(times):
        scene.run_nested([("when", step, None, None)])


@phrase("given when", "I send event {event} with {with}")
def send_event(scene: Scene, event: str, parameters: Mapping[str, Any] | None = None) -> None:
    scene.actor.send_event(make_event(event, parameters or {}))


@phrase("given when", "I wait {seconds} seconds", "I wait {seconds} second")
def wait(scene: Scene, seconds: float) -> None:
    scene.actor.advance(seconds)


@phrase("given when", "actor {actor} is done", "actor {actor} is done with {json}")
def actor_done(scene: Scene, actor: str, json: Any = None) -> None:
    scene.actor.complete(scene.require_actor(actor), json)


@phrase("given when", "actor {actor} fails with code {code}")
def actor_fails_with_code(scene: Scene, actor: str, code: str) -> None:
    error = {"category": "provider_error", "code": code, "message": f"the provider answered {code}"}
    scene.actor.fail(scene.require_actor(actor), error)


@phrase("given when", "actor {actor} fails with {json}")
def actor_fails(scene: Scene, actor: str, json: Any) -> None:
    scene.actor.fail(scene.require_actor(actor), json)


@phrase("given when", "actor {actor} yields event {event} with {with}")
def actor_yields(scene: Scene, actor: str, event: str, parameters: Mapping[str, Any]) -> None:
    scene.actor.deliver(scene.require_actor(actor), event, **parameters)


# ---------------------------------------------------------------- then: states


@phrase("then", "state {state} is active")
def state_is_active(scene: Scene, state: str) -> None:
    scene.check(scene.actor.matches(scene.require_state(state)), f"state {state!r} is not active")


@phrase("then", "state {state} is not active")
def state_is_not_active(scene: Scene, state: str) -> None:
    scene.check(not scene.actor.matches(scene.require_state(state)), f"state {state!r} is active")


@phrase("then", "state {state} is entered")
def state_is_entered(scene: Scene, state: str) -> None:
    scene.check(scene.require_state(state) in scene.done.entered, f"state {state!r} is not entered")


@phrase("then", "state {state} is not entered")
def state_is_not_entered(scene: Scene, state: str) -> None:
    scene.check(scene.require_state(state) not in scene.done.entered, f"state {state!r} is entered")


@phrase("then", "state {state} is exited")
def state_is_exited(scene: Scene, state: str) -> None:
    scene.check(scene.require_state(state) in scene.done.exited, f"state {state!r} is not exited")


@phrase("then", "state {state} is not exited")
def state_is_not_exited(scene: Scene, state: str) -> None:
    scene.check(scene.require_state(state) not in scene.done.exited, f"state {state!r} is exited")


@phrase("then", "the tag {tag} is active")
def tag_is_active(scene: Scene, tag: str) -> None:
    tags = scene.actor.interpreter.tags
    scene.check(
        scene.require_tag(tag) in tags, f"tag {tag!r} is not active; active: {', '.join(sorted(tags)) or 'none'}"
    )


@phrase("then", "the tag {tag} is not active")
def tag_is_not_active(scene: Scene, tag: str) -> None:
    scene.check(scene.require_tag(tag) not in scene.actor.interpreter.tags, f"tag {tag!r} is active")


@phrase("then", "statechart is in a final configuration")
def is_final(scene: Scene) -> None:
    scene.check(scene.actor.is_done, "the statechart is not in a final configuration")


@phrase("then", "statechart is not in a final configuration")
def is_not_final(scene: Scene) -> None:
    scene.check(not scene.actor.is_done, "the statechart is in a final configuration")


# ---------------------------------------------------------------- then: events


@phrase("then", "event {event} is fired with {with}")
def event_is_fired(scene: Scene, event: str, parameters: Mapping[str, Any] | None = None) -> None:
    _check_said(scene, "fired", scene.done.fired, event, parameters)


@phrase("then", "event {event} is sent with {with}")
def event_is_sent(scene: Scene, event: str, parameters: Mapping[str, Any] | None = None) -> None:
    _check_said(scene, "sent", scene.done.sent, event, parameters)


@phrase("then", "event {event} is emitted with {with}")
def event_is_emitted(scene: Scene, event: str, parameters: Mapping[str, Any] | None = None) -> None:
    _check_said(scene, "emitted", scene.done.emitted, event, parameters)


@phrase("then", "event {event} is not fired")
def event_is_not_fired(scene: Scene, event: str) -> None:
    scene.check(all(said.event != event for said in scene.done.fired), f"event {event!r} is fired")


@phrase("then", "event {event} is not sent")
def event_is_not_sent(scene: Scene, event: str) -> None:
    scene.check(all(said.event != event for said in scene.done.sent), f"event {event!r} is sent")


@phrase("then", "event {event} is not emitted")
def event_is_not_emitted(scene: Scene, event: str) -> None:
    scene.check(all(said.event != event for said in scene.done.emitted), f"event {event!r} is emitted")


@phrase("then", "no event is fired")
def no_event_is_fired(scene: Scene) -> None:
    fired = sorted({said.event for said in scene.done.fired})
    scene.check(not fired, f"fired: {', '.join(fired)}")


def _check_said(
    scene: Scene, verb: str, found: Sequence[SentEvent], event: str, parameters: Mapping[str, Any] | None
) -> None:
    named = [said for said in found if said.event == event]
    others = ", ".join(sorted({said.event for said in found})) or "none"
    scene.check(named, f"event {event!r} is not {verb}; {verb}: {others}")
    if parameters:
        told = [difference(said.data, parameters) for said in named]
        scene.check(None in told, f"event {event!r} is {verb} otherwise: {'; '.join(t for t in told if t)}")


_OUTCOMES: Mapping[str, frozenset[Receipt]] = {
    "taken": frozenset({Receipt.TAKEN}),
    "denied": frozenset({Receipt.DENIED}),
    "not handled": frozenset({Receipt.NOT_HANDLED, Receipt.UNKNOWN, Receipt.DONE}),
}


@phrase("then", "event {event} is taken")
def event_is_taken(scene: Scene, event: str) -> None:
    _check_receipt(scene, event, "taken")


@phrase("then", "event {event} is denied")
def event_is_denied(scene: Scene, event: str) -> None:
    _check_receipt(scene, event, "denied")


@phrase("then", "event {event} is not handled")
def event_is_not_handled(scene: Scene, event: str) -> None:
    _check_receipt(scene, event, "not handled")


def _check_receipt(scene: Scene, event: str, outcome: str) -> None:
    receipts = [receipt for name, receipt in scene.done.receipts if name == event]
    scene.check(receipts, f"event {event!r} was not received since the last When")
    scene.check(receipts[-1] in _OUTCOMES[outcome], f"event {event!r} is not {outcome}, but: {receipts[-1].value}")


# ---------------------------------------------------------------- then: actors and actions


@phrase("then", "actor {actor} is started")
def actor_is_started(scene: Scene, actor: str) -> None:
    started = [effect.id for effect in scene.done.started]
    scene.check(
        scene.require_actor(actor) in started,
        f"actor {actor!r} is not started; started: {', '.join(started) or 'none'}",
    )


@phrase("then", "actor {actor} is not started")
def actor_is_not_started(scene: Scene, actor: str) -> None:
    started = {effect.id for effect in scene.done.started}
    scene.check(scene.require_actor(actor) not in started, f"actor {actor!r} is started")


@phrase("then", "actor {actor} is stopped")
def actor_is_stopped(scene: Scene, actor: str) -> None:
    stopped = [effect.id for effect in scene.done.stopped]
    scene.check(
        scene.require_actor(actor) in stopped,
        f"actor {actor!r} is not stopped; stopped: {', '.join(stopped) or 'none'}",
    )


@phrase("then", "actor {actor} is not stopped")
def actor_is_not_stopped(scene: Scene, actor: str) -> None:
    stopped = {effect.id for effect in scene.done.stopped}
    scene.check(scene.require_actor(actor) not in stopped, f"actor {actor!r} is stopped")


@phrase("then", "the input of actor {actor} contains {json}")
def input_contains(scene: Scene, actor: str, json: Any) -> None:
    told = difference(scene.actor.input_of(scene.require_actor(actor)), json, "the input")
    scene.check(told is None, f"actor {actor!r}: {told}")


@phrase("then", "action {action} is called with {with}")
def action_is_called(scene: Scene, action: str, parameters: Mapping[str, Any] | None = None) -> None:
    scene.require_action(action)
    calls = [call for call in scene.calls if call.name == action]
    others = ", ".join(call.name for call in scene.calls) or "none"
    scene.check(calls, f"action {action!r} is not called; called: {others}")
    if parameters:
        told = [difference(call.arguments, parameters) for call in calls]
        scene.check(None in told, f"action {action!r} is called otherwise: {'; '.join(t for t in told if t)}")


@phrase("then", "action {action} is not called")
def action_is_not_called(scene: Scene, action: str) -> None:
    scene.require_action(action)
    scene.check(all(call.name != action for call in scene.calls), f"action {action!r} is called")


# ---------------------------------------------------------------- then: data


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
    """The value of a guard expression over names, in the current configuration; code is not accepted."""
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

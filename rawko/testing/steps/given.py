"""Phrases that set up a scenario: active states, context fields, input, guard outcomes, delays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rawko.interpreter.errors import ContextError
from rawko.testing.errors import ContractMistake
from rawko.testing.matching import shown
from rawko.testing.phrases import PhraseBook
from rawko.testing.placing import configuration_with
from rawko.testing.scene import Scene

BOOK = PhraseBook()
phrase = BOOK.add


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
    scene.set_guard_outcome(guard, outcome)


@phrase("given when", "delay {delay} is {seconds} seconds", "delay {delay} is {seconds} second")
def given_delay(scene: Scene, delay: str, seconds: float) -> None:
    scene.doubles.delays[scene.require_delay(delay)] = seconds * 1000

"""Phrases that act on the machine: events, time, outputs and failures of actors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rawko.interpreter.data.events import make_event
from rawko.testing.errors import ContractMistake
from rawko.testing.phrases import PhraseBook
from rawko.testing.scene import Scene

BOOK = PhraseBook()
phrase = BOOK.add


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

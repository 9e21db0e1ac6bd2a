"""Phrases that check which actors were started or stopped, and which actions were called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rawko.testing.matching import difference
from rawko.testing.phrases import PhraseBook
from rawko.testing.scene import Scene

BOOK = PhraseBook()
phrase = BOOK.add


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

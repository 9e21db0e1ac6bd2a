"""Phrases that check states, tags and the end of the machine."""

from __future__ import annotations

from rawko.testing.phrases import PhraseBook
from rawko.testing.scene import Scene

BOOK = PhraseBook()
phrase = BOOK.add


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

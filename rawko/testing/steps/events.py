"""Phrases that check events: those fired, sent or emitted, and the receipts of received ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rawko.interpreter.data.steps import Receipt
from rawko.testing.matching import difference
from rawko.testing.phrases import PhraseBook
from rawko.testing.recorder import SentEvent
from rawko.testing.scene import Scene

BOOK = PhraseBook()
phrase = BOOK.add


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

"""Overrides as data: force an agent, skip a step, retry at once, tell the arbiter something; and what became of one.

A machine takes each of them as an event of its chart, so that it is journalled, explained and replayed like any other.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, get_args
from uuid import uuid4

from rawko.config import ConfigError
from rawko.interpreter.data.steps import Receipt
from rawko.vocabulary.documents import accepted
from rawko.vocabulary.shown_states import shown_states

if TYPE_CHECKING:
    from rawko.interpreter.running.interpreter import Interpreter

Kind = Literal["force", "skip", "retry", "tell"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
EVENTS: Final[Mapping[str, str]] = {
    "force": "FORCE_AGENT",
    "skip": "SKIP_STEP",
    "retry": "RETRY",
    "tell": "USER_MESSAGE",
}
"""The event that each of them is."""
MAX_TEXT_CHARS: Final = 10_000
ENDED: Final = "the run has ended"
"""The receipt of an override that no machine is left to take."""


@dataclass(frozen=True, slots=True)
class Override:
    """One override.

    Attributes:
        text: The agent's name for `force`, the message for `tell`; else empty.
        id: Stands in the event, so that one that was journalled is not taken twice.
    """

    kind: Kind
    text: str
    who: str
    id: str

    @classmethod
    def new(cls, kind: Kind, text: str, who: str) -> Override:
        """One with an id of its own."""
        return cls(kind, text, who, uuid4().hex)

    @property
    def event(self) -> tuple[str, dict[str, Any]]:
        """The event's name and payload."""
        given = {"force": {"agent_name": self.text}, "tell": {"content": self.text}}
        return EVENTS[self.kind], {**given.get(self.kind, {}), "who": self.who, "request": self.id}

    def __str__(self) -> str:
        return f"{self.kind} {self.text}" if self.kind == "force" else self.kind


@dataclass(frozen=True, slots=True)
class Reply:
    """What became of an override.

    Attributes:
        receipt: As of `Receipt`, or `ENDED`.
        state: Active states of the machine that was asked, afterwards.
        why: Why it was not taken; empty where it was.
    """

    receipt: str
    state: tuple[str, ...] = ()
    why: str = ""

    @property
    def is_taken(self) -> bool:
        return self.receipt == Receipt.TAKEN.value

    def to_json(self) -> dict[str, Any]:
        return {"receipt": self.receipt, "state": list(self.state), "why": self.why}

    @classmethod
    def of_json(cls, data: Mapping[str, Any]) -> Reply:
        """As `to_json` gives it.

        Raises:
            KeyError, TypeError: It is none.
        """
        return cls(str(data["receipt"]), tuple(map(str, data["state"])), str(data["why"]))


def check_override(kind: str, text: str, *, run: str, agent: str | None, agents: Collection[str]) -> Kind:
    """Refuse an override that no state of the run could take; its kind.

    Args:
        agent: The one that works alone in the run; None under the arbiter.
        agents: Names of all agents of the run.

    Raises:
        ConfigError: Says what would be accepted.
    """
    if kind not in EVENTS:
        raise ConfigError(f"{kind!r} is no override{accepted(KINDS, found=kind)}")
    if agent is not None and kind != "retry":
        remedy = {
            "force": f"go on from here with another agent: rawko fork {run}@last --agent NAME",
            "skip": "only the arbiter's runs have a plan whose steps can be skipped",
            "tell": f'once it waits: rawko answer {run} "..."',
        }[kind]
        raise ConfigError(f"run {run!r} has no arbiter: the agent {agent!r} works alone; {remedy}")
    if kind == "force" and text not in agents:
        raise ConfigError(f"run {run!r} has no agent {text!r}{accepted(sorted(agents), found=text)}")
    if kind == "tell" and not text.strip():
        raise ConfigError("the message is empty")
    if len(text) > MAX_TEXT_CHARS:
        raise ConfigError(
            f"the message has {len(text):,} characters; accepted: {MAX_TEXT_CHARS:,} (write it into a file of the "
            "workspace, and name the file)"
        )
    return kind  # type: ignore[return-value]  # a key of EVENTS


def why_refused(machine: Interpreter, override: Override, receipt: str) -> str:
    """Why a machine does not take an override, in words: the guards that deny it, or the states that would take it."""
    name, data = override.event
    found = machine.why_not(name, **data)
    states = " ".join(shown_states(machine.configuration))
    if receipt == Receipt.DENIED.value:
        denied = [
            f"{refusal.guard}: {', '.join(f'{part} is {str(value).lower()}' for part, value in refusal.values.items())}"
            for refusal in found
            if refusal.reason == "guard"
        ]
        return f"in {states}: {'; '.join(dict.fromkeys(denied))}"
    handled = next((refusal.detail for refusal in found if refusal.detail), "")
    return f"in {states}: not handled here{f' ({handled})' if handled else ''}"

"""What the nodes of an exploration need of the world, as Protocols; adapters are elsewhere. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from rawko.machines.node_engine.explore.decision import Decision, Situation
from rawko.machines.node_engine.explore.screen import Screen
from rawko.machines.node_engine.nodes import Port


class TerminalError(Exception):
    """A program cannot be started, or cannot be typed at.

    Attributes:
        is_retryable: The same may succeed later.
    """

    def __init__(self, message: str, *, is_retryable: bool = False) -> None:
        super().__init__(message)
        self.is_retryable = is_retryable


class Terminal(Protocol):
    """One program on a terminal."""

    @property
    def is_open(self) -> bool:
        """A program was launched here, and not closed since; it may have ended by itself."""
        ...

    @property
    def exit_status(self) -> int | None:
        """Of a program that has ended, as a shell tells it (128 + signal); None while it runs, or before."""
        ...

    async def launch(self) -> int:
        """Start the program anew; its process id.

        Raises:
            TerminalError: It cannot be started.
        """
        ...

    def screen(self) -> Screen:
        """What it shows now."""
        ...

    async def until_quiet(self, quiet_ms: int, cap_ms: int) -> bool:
        """Wait until nothing was written for `quiet_ms`, or the program has ended; False after `cap_ms`."""
        ...

    async def until_written(self, within_ms: int) -> bool:
        """Wait until the program writes something; False if it does not in time, or has ended."""
        ...

    async def until_shown(self, text: str, within_ms: int) -> bool:
        """Wait until a text is on the screen ("": anything); False if it is not in time, or the program ends."""
        ...

    async def send(self, text: str, keys: Sequence[str], *, paste: bool = False, env: str = "") -> None:
        """Type a text, then press keys. `paste`: the text comes as from the clipboard. `env`: what is typed instead is
        the value of this variable.

        Raises:
            TerminalError: The program has ended, or takes no input.
        """
        ...

    async def close(self) -> int | None:
        """End the program and all that it has started; the exit status. Nothing where nothing runs."""
        ...


@dataclass(frozen=True, slots=True)
class Advice:
    """A decision, the tokens that it cost, and what a provider needs to go on answering from here."""

    decision: Decision
    tokens: int = 0
    notes: Mapping[str, Any] | None = None


class Advisor(Protocol):
    """Who chooses where no rule does: a model."""

    async def advise(self, situation: Situation) -> Advice:
        """The next decision.

        Raises:
            ActorFailed: The model failed, or gave no usable decision: an ErrorContext's fields, and `is_retryable`,
                `tokens` (what it cost all the same), `notes` (as of an Advice).
        """
        ...


class PatternError(Exception):
    """It cannot be told whether a regular expression is found."""


class Patterns(Protocol):
    """Searches screens for regular expressions, which may be as costly as somebody made them."""

    async def found(self, patterns: Sequence[str], text: str) -> frozenset[str]:
        """Those that are found in the text; `^` and `$` match at lines.

        Raises:
            PatternError: One of them takes too long.
        """
        ...


class Trail(Protocol):
    """What was done since the program was launched, as far as it was kept."""

    def decisions(self) -> Sequence[Mapping[str, Any]]:
        """DECIDED events, oldest first: those that lead from the launch to where the program is now."""
        ...


TERMINAL = Port[Terminal]("terminal", "The program's terminal")
ADVISOR = Port[Advisor]("advisor", "Who chooses where no rule does")
PATTERNS = Port[Patterns]("patterns", "Searches screens for regular expressions")
TRAIL = Port[Trail]("trail", "What was done since the launch")

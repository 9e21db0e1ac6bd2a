"""Where untrusted content is while a chart runs agents, and what moves it, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from rawko.proving.outcomes import Outcome
from rawko.proving.permissions.powers import Act
from rawko.proving.system import Move

ALONE: Final = ""
"""In place of an invocation's id: the agent whose machine the chart is."""

Does = Literal["is told", "reads", "reads files", "reads reports", "writes files", "takes over", "runs files", "writes"]


Call = Literal["free", "approved", "used"]
"""A call of a tool that no person was asked about; one that a person allowed; none, or one that has done its work."""


class Worker(NamedTuple):
    """An agent at work.

    Attributes:
        invocation: Its id; ALONE for the agent whose machine the chart is.
        troupe: The number of the agents with which it takes turns.
        is_tainted: Its conversation holds untrusted content.
    """

    invocation: str
    troupe: int
    agent: str
    is_tainted: bool


class Calls(NamedTuple):
    """Which calls of tools can be made: some that no person is asked about, some that a person allows; only one."""

    are_free: bool = True
    may_ask: bool = True
    is_one: bool = False


class Place(NamedTuple):
    """A configuration, by its number, with who is at work.

    Attributes:
        said: What ended agents have said holds untrusted content.
        written: Files hold untrusted content that no person has seen.
        call: Of the agent whose machine the chart is: where its present call of a tool comes from.
    """

    number: int
    workers: tuple[Worker, ...]
    said: bool = False
    written: bool = False
    call: Call = "used"


@dataclass(frozen=True, slots=True)
class Deed:
    """An act within a place."""

    does: Does
    act: Act


@dataclass(frozen=True, slots=True)
class Flow:
    """A shortest way of untrusted content to a tool that writes outside.

    Attributes:
        way: Steps of the chart.
        deeds: Acts, each with the number of steps after which it happens; the last one writes outside.
    """

    way: tuple[tuple[Move, Outcome], ...]
    deeds: tuple[tuple[int, Deed], ...]
    end: tuple[str, ...]

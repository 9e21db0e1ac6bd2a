"""What agents can do where a chart runs them, as data: tools that read untrusted content, tools that write outside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

Kind = Literal["agents", "tools"]
"""What an invocation runs: agents, each with a conversation that begins there; or the tools of the one agent whose
machine the chart is, whose conversation lasts as long as the machine."""


@dataclass(frozen=True, slots=True)
class Act:
    """A use of a tool.

    Attributes:
        agent: Who uses it, with its callers; "" for the machine itself.
        tool: Its name, or what else it is.
        rule: What allows it.
        is_asked: A person is asked about it.
    """

    agent: str
    tool: str
    rule: str = ""
    is_asked: bool = False


@dataclass(frozen=True, slots=True)
class Powers:
    """What an agent, with those that it calls, can do in some states of a chart; one act stands for all of its kind.

    Attributes:
        told: Untrusted content stands in its prompt.
        reads: It reads untrusted content.
        asked_reads: The same, after a person's yes.
        reads_files: It reads files of the folder, those included that agents have written.
        reads_reports: It reads what other agents of the run have said and read.
        writes_files: It writes files of the folder without a person's yes.
        runs_files: The machine runs what stands in these files, outside of any sandbox.
        writes_outside: It writes outside without a person's yes.
    """

    told: Act | None = None
    reads: Act | None = None
    asked_reads: Act | None = None
    reads_files: Act | None = None
    reads_reports: Act | None = None
    writes_files: Act | None = None
    runs_files: Act | None = None
    writes_outside: Act | None = None

    @property
    def profile(self) -> tuple[bool, ...]:
        """Two agents with equal profiles can do the same."""
        every = (self.told, self.reads, self.asked_reads, self.reads_files, self.reads_reports)
        return tuple(act is not None for act in (*every, self.writes_files, self.runs_files, self.writes_outside))


NO_POWERS: Final = Powers()

PowersOf = Callable[[str, str, tuple[str, ...], bool], Powers]
"""(id of the invocation, agent, active states, whether no other agent is at work) to what the agent can do."""


@dataclass(frozen=True, slots=True)
class Cast:
    """Who may be at work in an invocation. One troupe is chosen when it begins; its members then take turns, in any
    order: an agent alone, the agents of a `for each`, those that an agent's own chart runs."""

    kind: Kind
    troupes: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Casting:
    """The agents of a chart.

    Attributes:
        casts: By id of the invocation.
        powers: What each can do.
        commands: Acts of the machine itself by id of the invocation: commands on the folder's files.
        several_calls: Invocations of the kind "tools" that make calls as they like, one after the other.
        is_called_by_tool: They begin in the step that ends the call of a tool, which has then done nothing else.
        approvals: Events and actors by which a person approves what agents have done before.
        assumed: What all this rests on, in words.
        places: Names of the states by which agents' powers may differ; None: all.
    """

    casts: Mapping[str, Cast]
    powers: PowersOf
    commands: Mapping[str, Act] = field(default_factory=dict)
    several_calls: frozenset[str] = frozenset()
    is_called_by_tool: bool = False
    approvals: frozenset[str] = frozenset()
    assumed: tuple[str, ...] = ()
    places: frozenset[str] | None = None

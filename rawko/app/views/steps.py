"""One step of a run as people read it: who did what, in which state, with which files, tokens and cost."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from rawko.vocabulary.snapshot import FileChange
from rawko.vocabulary.usage import Usage

NOTHING_USED: Final = Usage()


class StepKind(StrEnum):
    """What a step is about.

    `EVENT` is an event of a chart of the user's own, `TRAVEL` a rewind, a fork or restored files; `PLUMBING` is what
    machines tell each other, which a list for people leaves out.
    """

    START = "start"
    MODEL = "model"
    TOOL = "tool"
    COMMAND = "command"
    HANDOVER = "handover"
    QUESTION = "question"
    APPROVAL = "approval"
    ANSWER = "answer"
    SNAPSHOT = "snapshot"
    EVENT = "event"
    TRAVEL = "travel"
    ERROR = "error"
    END = "end"
    PLUMBING = "plumbing"


@dataclass(frozen=True, slots=True)
class StepView:
    """One row of a run's journal.

    `words` and `detail` are one line each, with control characters and hidden characters made visible. All other texts
    (names of agents and states, paths) are as the journal has them: a face shows them through `visible_line`, or as
    text nodes.

    Attributes:
        number: Of the row; `RUN@number` names the step.
        seconds: Since the run's first row; `time` is the wall time, in seconds since 1970.
        actor: Path of the machine that took the step; "run" for a rewind, a fork or restored files.
        agent: Who worked: an agent's name, or "arbiter"; "" where no agent has worked yet.
        iteration: Agent runs that the arbiter had begun by then; 0 where one agent runs alone.
        machine: Name of the chart's root state; `states` are the active states that a line for people names,
            `configuration` all of them.
        words: What was done: `write fizzbuzz.py`, `bash python3 -m pytest -q`, `→ reviewer`.
        detail: More of it: the last line of a result, a reason, the message of an error; "" for nothing.
        event: The machine's own name of what happened, as `rawko log --events` shows it.
        is_error: It failed, or was refused.
        took_s: Seconds between the step that began what ended here, number `began`, and this one; None where nothing
            ended, or where the beginning is not known.
        call_id: Of the tool call that ended or was asked about; its whole result is `rawko show RUN@K --output ID`.
        usage: Tokens of the calls of models that ended in the step.
        cost_usd: Of these calls; None where there were none, or where the price of a model is not known.
        snapshot: Commit of the workspace snapshot that was taken; None where none was.
        files: What the snapshot holds that the one before did not.
        of_step: Of a snapshot: number of the tool's step whose files it holds.
        is_left_behind: A later rewind set the run back to before this step, as far as the reader knew.
        leaves_behind: Of a rewind: the first and the last number of the steps that it left behind.
    """

    number: int
    seconds: float
    time: float
    actor: str
    agent: str
    iteration: int
    machine: str
    states: tuple[str, ...]
    configuration: tuple[str, ...]
    kind: StepKind
    words: str
    detail: str = ""
    event: str = ""
    is_error: bool = False
    took_s: float | None = None
    began: int | None = None
    call_id: str | None = None
    usage: Usage = NOTHING_USED
    cost_usd: float | None = None
    snapshot: str | None = None
    files: tuple[FileChange, ...] = ()
    of_step: int | None = None
    is_left_behind: bool = False
    leaves_behind: tuple[int, int] | None = None

    @property
    def tokens_in(self) -> int:
        """All tokens that were sent, those read from and written to the cache included."""
        return self.usage.total_tokens - self.usage.output_tokens

    @property
    def tokens_out(self) -> int:
        return self.usage.output_tokens

    def to_json(self) -> dict[str, Any]:
        """The step, as `rawko log --json` prints it."""
        return {
            "number": self.number,
            "seconds": round(self.seconds, 3),
            "time": self.time,
            "actor": self.actor,
            "agent": self.agent,
            "iteration": self.iteration,
            "machine": self.machine,
            "states": list(self.states),
            "configuration": list(self.configuration),
            "kind": self.kind.value,
            "words": self.words,
            "detail": self.detail,
            "event": self.event,
            "is_error": self.is_error,
            "took_s": None if self.took_s is None else round(self.took_s, 3),
            "began": self.began,
            "call_id": self.call_id,
            "tokens_in": self.tokens_in,
            "tokens_out": self.tokens_out,
            "usage": self.usage.to_json(),
            "cost_usd": self.cost_usd,
            "snapshot": self.snapshot,
            "files": [change.to_json() for change in self.files],
            "of_step": self.of_step,
            "is_left_behind": self.is_left_behind,
            "leaves_behind": None if self.leaves_behind is None else list(self.leaves_behind),
        }

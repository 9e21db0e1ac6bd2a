"""What the machine of an agent answers, and what becomes of it where another machine runs the agent (S3-025, C-09)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any, Final, Literal

from pydantic import ValidationError

from rawko.interpreter.data.values import thaw
from rawko.runtime.actor_kinds import ActorFailed
from rawko.vocabulary.base import Data
from rawko.vocabulary.messages import Message
from rawko.vocabulary.snapshot import FileChange
from rawko.vocabulary.usage import Usage

Outcome = Literal["success", "failure", "limit", "cancelled"]
MAX_CHANGES: Final = 20
"""Changed files of a run that its entry describes; it names the others only."""


class AgentResult(Data):
    """What the machine of an agent answers (S3-025, C-13); all but the outcome may be left out.

    Attributes:
        messages: Only what is new; where `is_compacted`, all that the conversation consists of from now on.
        plan_updates: A PlanPatch as data; whether it fits the plan is the chart's to ask (C-36).
        changes: The first `MAX_CHANGES` of `files_changed` that came with more than their names.
    """

    outcome: Outcome
    summary: str | None = None
    error: dict[str, Any] | None = None
    usage: Usage = Usage()
    messages: tuple[Message, ...] = ()
    is_compacted: bool = False
    plan_updates: Any = None
    files_changed: tuple[str, ...] = ()
    changes: tuple[FileChange, ...] = ()
    tree_before: str | None = None
    tree_after: str | None = None


_KEPT_OF_A_FAILED_RUN: Final = (
    "summary",
    "usage",
    "messages",
    "is_compacted",
    "files_changed",
    "changes",
    "tree_before",
    "tree_after",
)


def finished_run(output: Any) -> dict[str, Any]:
    """The result of an agent's machine as an AgentResult; a failure leaves as an error that keeps what the run said
    and cost.

    Args:
        output: The machine's output. Beside AgentResult's fields it may have `new_messages_from` (then `messages` is
            the whole conversation, new from that index on) and give files as FileChange.

    Raises:
        ActorFailed: The outcome is failure; besides the error's own fields it has `summary`, `usage`, `messages`,
            `is_compacted`, `files_changed`, `changes`, `tree_before` and `tree_after` of the run. Or the output is no
            such result.

    Source: C-13, C-31, C-33, C-35, C-48.
    """
    result = _agent_result(output).to_json()
    if result["outcome"] != "failure":
        return result
    error = result["error"] or {"message": result["summary"] or "The agent failed and said nothing about why"}
    raise ActorFailed({**{name: result[name] for name in _KEPT_OF_A_FAILED_RUN}, **error})


def _agent_result(output: Any) -> AgentResult:
    told = thaw(output)
    if not isinstance(told, dict):
        raise ActorFailed(_no_result(f"its output is {type(told).__name__}, not an object"))
    known = {name: told[name] for name in AgentResult.model_fields if told.get(name) is not None}
    try:
        known["messages"] = known.get("messages", [])[told.get("new_messages_from") or 0 :]
        changed = known.get("files_changed", ())
        known["files_changed"] = [_path(change) for change in changed]
        known["changes"] = list(islice(filter(_is_described, changed), MAX_CHANGES))
        return AgentResult.model_validate(known)
    except (ValidationError, TypeError, KeyError) as error:
        raise ActorFailed(_no_result(str(error))) from error


def _no_result(problem: str) -> dict[str, Any]:
    return {"message": f"The agent's machine gave no usable result: {problem}", "category": "validation_error"}


def _path(change: Any) -> Any:
    return change["path"] if isinstance(change, Mapping) else change


def _is_described(change: Any) -> bool:
    return isinstance(change, Mapping) and "kind" in change

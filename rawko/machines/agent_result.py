"""The output of an agent's machine, and its form for a machine that invoked the agent (S3-025, C-09)."""

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
"""Most changed files that an AgentResult describes in `changes`; further files are only named."""


class AgentResult(Data):
    """The output of an agent's machine (S3-025, C-13); only `outcome` is required.

    Attributes:
        messages: The new messages only; where `is_compacted`, the whole conversation from now on.
        plan_updates: A PlanPatch as data; the chart that invoked the agent checks whether it fits the plan (C-36).
        changes: The first `MAX_CHANGES` of `files_changed` that the output gave as objects with a `kind`.
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
    """The output of an agent's machine as the JSON of an AgentResult; the outcome "failure" is raised as an error that
    carries the summary and the usage of the run.

    Args:
        output: The machine's output. Besides AgentResult's fields it may have `new_messages_from` (`messages` is then
            the whole conversation, and the new messages begin at that index), and `files_changed` may hold FileChanges.

    Raises:
        ActorFailed: The outcome is failure; besides the error's own fields it has `summary`, `usage`, `messages`,
            `is_compacted`, `files_changed`, `changes`, `tree_before` and `tree_after` of the run. Or the output does
            not fit AgentResult.

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

"""The arbiter's decision: its type, the JSON Schema for an answer, and parsing of the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, get_args

from pydantic import ValidationError

from rawko.machines.answers import AnswerError, json_object, quoted
from rawko.vocabulary.base import Data

DecisionType = Literal["SELECT_MODE", "CONTINUE", "COMPLETE", "RETRY", "SKIP", "ABORT"]
DECISION_TYPES: tuple[DecisionType, ...] = get_args(DecisionType)

REPEATS: frozenset[str] = frozenset({"RETRY", "CONTINUE"})
"""Decisions that repeat the previous agent unless they name one (C-02)."""

RUN_AN_AGENT: frozenset[str] = REPEATS | {"SELECT_MODE"}
"""Decisions after which an agent runs."""

_NULL = {"type": "null"}


class DecisionError(ValueError):
    """An answer that is not a decision. The message quotes the defect and says what would be accepted."""


class ArbiterDecision(Data):
    """The arbiter's decision (S3-026; SKIP and ABORT by C-28).

    Attributes:
        mode: The agent that SELECT_MODE names; None otherwise.
        reason: Why, for all but COMPLETE.
        summary: What was achieved, for COMPLETE.
    """

    type: DecisionType
    mode: str | None = None
    reason: str = ""
    summary: str | None = None


def decision_schema(agents: Iterable[str]) -> dict[str, Any]:
    """The JSON Schema of a decision among these agents.

    One flat object: some endpoints refuse a choice of objects at the top level. `parse_decision` checks which fields
    each type needs.

    Source: S6-113, C-39.
    """
    names = sorted(agents)
    mode: dict[str, Any] = {"type": "string", "enum": names} if names else {"type": "string"}
    return {
        "type": "object",
        "properties": {
            "type": {"type": "string", "enum": list(DECISION_TYPES)},
            "mode": {"anyOf": [mode, _NULL], "description": "Name of the agent, for SELECT_MODE; null otherwise"},
            "reason": {"type": "string", "description": "Why, in one sentence"},
            "summary": {
                "anyOf": [{"type": "string"}, _NULL],
                "description": "What was achieved, for COMPLETE; null otherwise",
            },
        },
        "required": ["type", "mode", "reason", "summary"],
        "additionalProperties": False,
    }


def parse_decision(text: str) -> ArbiterDecision:
    """The decision in an answer: a JSON object, bare or in one fenced block.

    Unknown keys are ignored: they do not change the decision, and asking again would only cost tokens.

    Raises:
        DecisionError: The answer is not JSON, has several fenced blocks, or is not a complete decision.

    Source: C-39.
    """
    value = _json_object(text)
    known = {key: item for key, item in value.items() if key in ArbiterDecision.model_fields}
    if known.get("reason") is None:
        known.pop("reason", None)
    try:
        decision = ArbiterDecision.model_validate(known)
    except ValidationError as error:
        raise DecisionError("; ".join(_problems(error))) from error
    _check_whole(decision)
    return decision


def _check_whole(decision: ArbiterDecision) -> None:
    needed = "summary" if decision.type == "COMPLETE" else "reason"
    if not getattr(decision, needed):
        raise DecisionError(f"{decision.type} needs {needed!r}: a text that is not empty")
    if decision.type == "SELECT_MODE" and decision.mode is None:
        raise DecisionError("SELECT_MODE needs 'mode': the name of an agent")


def why_refused(
    decision_type: str, mode: str | None, *, agents: Iterable[str], previous_agent: str | None, has_open_step: bool
) -> str | None:
    """Why a complete decision cannot be followed while an agent is being selected; None where it can.

    Source: S3-060, C-02, C-28.
    """
    if decision_type == "SKIP":
        return None if has_open_step else "Arbiter decided SKIP, but there is no plan step to skip"
    if decision_type not in RUN_AN_AGENT:
        return None
    named = mode if mode is not None else previous_agent if decision_type in REPEATS else None
    if named is None:
        return f"Arbiter decided {decision_type} without an agent, and none has worked yet"
    return None if named in agents else f"Arbiter selected unknown agent: {named}"


def _json_object(text: str) -> Mapping[str, Any]:
    try:
        return json_object(text, keys="'type', 'mode', 'reason', 'summary'")
    except AnswerError as error:
        raise DecisionError(str(error)) from error


def _problems(error: ValidationError) -> Iterable[str]:
    for problem in error.errors(include_url=False):
        field = ".".join(map(str, problem["loc"]))
        yield _WORDS.get(problem["type"], _plain)(field, problem)


def _plain(field: str, problem: Mapping[str, Any]) -> str:
    return f"{field} is {quoted(str(problem['input']))}: {problem['msg']}"


def _literal(field: str, problem: Mapping[str, Any]) -> str:
    return f"{field} is {quoted(str(problem['input']))}; accepted: {', '.join(DECISION_TYPES)}"


def _missing(field: str, problem: Mapping[str, Any]) -> str:
    return f"{field} is missing; accepted: {', '.join(DECISION_TYPES)}" if field == "type" else f"{field} is missing"


_WORDS: dict[str, Callable[[str, Mapping[str, Any]], str]] = {"literal_error": _literal, "missing": _missing}

"""The control tools complete, clarify, pause and update_plan: their schemas, and parsing of their calls.

The machine answers these calls itself; the toolbox never sees them (AL-040).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

from pydantic import Field, ValidationError

from rawko.runtime.ports import ToolSpec
from rawko.vocabulary.base import Data
from rawko.vocabulary.plan import PlanPatch

Text = Annotated[str, Field(min_length=1)]


class Complete(Data):
    """Input of `complete`: the task is done."""

    summary: Text


class Clarify(Data):
    """Input of `clarify`: a question that only the user can answer."""

    question: Text


class Pause(Data):
    """Input of `pause`: the agent is stuck, or a person should look at its work."""

    reason: Text


Control: TypeAlias = Complete | Clarify | Pause | PlanPatch

MODELS: Mapping[str, type[Complete | Clarify | Pause | PlanPatch]] = {
    "complete": Complete,
    "clarify": Clarify,
    "pause": Pause,
    "update_plan": PlanPatch,
}
ENDING: frozenset[str] = frozenset({"complete", "clarify", "pause"})
"""Control tools that end a turn; every agent has them."""


class ControlError(ValueError):
    """A call of a control tool that does not fit its schema; the message is for the model."""


def parse_control(name: str, input: Mapping[str, Any]) -> Control:
    """The parsed input of a call of a control tool.

    Raises:
        ControlError: The input does not fit the schema.
        KeyError: `name` is not a control tool.
    """
    model = MODELS[name]
    try:
        return model.model_validate(dict(input))
    except ValidationError as error:
        found = "; ".join(f"{_path(item['loc'])}: {item['msg']}" for item in error.errors())
        accepted = ", ".join(map(repr, model.model_fields))
        raise ControlError(f"Invalid input for {name!r}: {found}. Accepted fields: {accepted}.") from error


def control_specs(*, can_update_plan: bool) -> tuple[ToolSpec, ...]:
    """The control tools of an agent. Their order never changes, so that servers cache the prompt."""
    return (*((_UPDATE_PLAN,) if can_update_plan else ()), _CLARIFY, _PAUSE, _COMPLETE)


def _path(location: tuple[int | str, ...]) -> str:
    return ".".join(map(str, location)) or "input"


def _text_tool(name: str, field: str, description: str, meaning: str) -> ToolSpec:
    schema = {
        "type": "object",
        "properties": {field: {"type": "string", "minLength": 1, "description": meaning}},
        "required": [field],
        "additionalProperties": False,
    }
    return ToolSpec(name, description, schema, is_read_only=True)


_COMPLETE = _text_tool(
    "complete",
    "summary",
    "Say that the task is done. Ends the run. Call it only after you have seen that the work is right; calls that "
    "stand after it in the same message are not run.",
    "What was done and how you know that it works, in a few sentences.",
)
_CLARIFY = _text_tool(
    "clarify",
    "question",
    "Ask the user a question that neither the task nor the workspace answers. The answer is this call's result.",
    "One question, with the choices that you see.",
)
_PAUSE = _text_tool(
    "pause",
    "reason",
    "Stop because you are stuck or somebody should look before you go on.",
    "What is in the way and what would help.",
)

_STATUS = {"enum": ["pending", "in_progress", "complete", "failed", "skipped"]}
_UPDATE_PLAN = ToolSpec(
    "update_plan",
    "Make or change the plan of the task. The first call must give all steps.",
    {
        "type": "object",
        "properties": {
            "steps": {
                "type": "array",
                "minItems": 1,
                "maxItems": 100,
                "description": "All steps of the plan, in order, instead of those there are.",
                "items": {
                    "type": "object",
                    "properties": {
                        "description": {"type": "string", "minLength": 1, "maxLength": 2000},
                        "status": _STATUS,
                        "agent_used": {"type": "string"},
                        "index": {"type": "integer", "description": "Place in the list, from 1; may be left out."},
                        "needs": {
                            "type": "array",
                            "maxItems": 100,
                            "items": {"type": "integer", "minimum": 1},
                            "description": "Places of the steps that must be done before it; may be left out.",
                        },
                    },
                    "required": ["description"],
                    "additionalProperties": False,
                },
            },
            "step_updates": {
                "type": "array",
                "description": "Changes of single steps.",
                "items": {
                    "type": "object",
                    "properties": {
                        "index": {"type": "integer", "minimum": 1, "description": "Which step, from 1."},
                        "description": {"type": "string", "minLength": 1, "maxLength": 2000},
                        "status": _STATUS,
                        "agent_used": {"type": "string"},
                    },
                    "required": ["index"],
                    "additionalProperties": False,
                },
            },
            "current_step_index": {
                "type": "integer",
                "minimum": 0,
                "description": "The step at work, from 0; the number of steps when all are done.",
            },
            "is_complete": {"type": "boolean", "description": "Every step is complete or skipped."},
        },
        "additionalProperties": False,
    },
    is_read_only=True,
)

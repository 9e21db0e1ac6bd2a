"""Blocks of settings: the keys below `bash`, `mcp`, `lanes`, `sub_agents` and `default_answers`."""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field

from rawko.patterns.globs import PatternError, rule_regex
from rawko.tools.commands.environment import check_extra
from rawko.vocabulary.base import Data
from rawko.vocabulary.budget import Duration


class BashOptions(Data):
    """Bounds of the tool `bash`, in milliseconds; `extra_env` names variables that commands may see."""

    default_timeout_ms: Annotated[int, Field(ge=100)] = 120_000
    max_timeout_ms: Annotated[int, Field(ge=100)] = 600_000
    extra_env: Annotated[tuple[str, ...], AfterValidator(check_extra)] = ()


class McpOptions(Data):
    """A server of the Model Context Protocol: its command line; `env` names variables that the server may see."""

    command: Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(min_length=1)]
    env: Annotated[tuple[str, ...], AfterValidator(check_extra)] = ()
    start_timeout_ms: Annotated[int, Field(ge=100)] = 30_000
    call_timeout_ms: Annotated[int, Field(ge=100)] = 120_000


ServerName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$", max_length=24)]


_SIZE: Final = r"^\s*([0-9]{1,9})\s*(KB|MB|GB|TB)\s*$"
_UNITS: Final = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def size_bytes(text: str) -> int:
    """The number of bytes of a size such as "500MB" or "2GB".

    Raises:
        ValueError: The text is not a size; the message lists the accepted form.
    """
    found = re.match(_SIZE, text)
    if found is None:
        raise ValueError(f"found {text!r}; accepted: a whole number with its unit, such as 500MB or 2GB")
    return int(found[1]) * _UNITS[found[2]]


def check_shared(patterns: tuple[str, ...]) -> tuple[str, ...]:
    """Check the patterns of uncaptured files that lanes share; returns them unchanged.

    Raises:
        ValueError: A pattern leaves the folder, is malformed, or names git's own folder.
    """
    for pattern in patterns:
        try:
            rule_regex(pattern)
        except PatternError as error:
            raise ValueError(error.message) from error
        if ".git" in pattern.split("/"):
            raise ValueError(f"the pattern {pattern!r} names git's own folder, which no lane gets")
    return patterns


class LaneOptions(Data):
    """The folders of lanes, and the environment of their commands.

    Attributes:
        share: Patterns of files that snapshots leave out, such as `node_modules`, and that lanes get nevertheless.
        setup: A command that runs once in a lane's folder, before its agent.
        disk: The most disk space that the folder of a lane may use.
        port_base: The value of the variable PORT in the first lane; each further lane gets a value `PORTS` higher.
        jobs: The most lanes that run at the same time.
    """

    share: Annotated[tuple[str, ...], AfterValidator(check_shared)] = ()
    setup: Annotated[str, Field(min_length=1)] | None = None
    setup_timeout: Duration = "10m"
    disk: Annotated[str, Field(pattern=_SIZE, examples=["500MB", "2GB"])] | None = None
    port_base: Annotated[int, Field(ge=1024, le=60_000)] = 20_000
    jobs: Annotated[int, Field(ge=1)] = 4


class SubAgentOptions(Data):
    """Bounds of agents that agents call with the tool `task`.

    Attributes:
        depth: How many levels of agents may call each other below a run's agent; 0: none.
        turns, tool_steps, tokens, cost_usd: The most that one call may use; the called agent's own limits also apply.
    """

    depth: Annotated[int, Field(ge=0, le=4)] = 1
    turns: Annotated[int, Field(ge=1)] | None = None
    tool_steps: Annotated[int, Field(ge=1)] | None = None
    tokens: Annotated[int, Field(ge=1)] | None = None
    cost_usd: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None


class DefaultAnswers(Data):
    """The answers of `headless: default`, by the kind of question; a question of a kind without an answer waits."""

    clarify: Annotated[str, Field(min_length=1)] | None = None
    pause: Annotated[str, Field(min_length=1)] | None = None
    approval: Literal["once", "tool", "always", "deny"] | None = None

    def answer_to(self, kind: str) -> str | None:
        """The answer to a question of this kind; None where none is set."""
        answers: dict[str, str | None] = self.to_json()
        return answers.get(kind)

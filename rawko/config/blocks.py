"""Blocks of settings: what stands below `bash`, `mcp` and `default_answers`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from rawko.tools.commands.environment import check_extra
from rawko.vocabulary.base import Data


class BashOptions(Data):
    """Bounds of the tool `bash`, in milliseconds; `extra_env` names variables that commands may see."""

    default_timeout_ms: Annotated[int, Field(ge=100)] = 120_000
    max_timeout_ms: Annotated[int, Field(ge=100)] = 600_000
    extra_env: Annotated[tuple[str, ...], AfterValidator(check_extra)] = ()


class McpOptions(Data):
    """A server of the Model Context Protocol: its command line; `env` names variables that it may see."""

    command: Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(min_length=1)]
    env: Annotated[tuple[str, ...], AfterValidator(check_extra)] = ()
    start_timeout_ms: Annotated[int, Field(ge=100)] = 30_000
    call_timeout_ms: Annotated[int, Field(ge=100)] = 120_000


ServerName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$", max_length=24)]


class DefaultAnswers(Data):
    """What `headless: default` answers, by the kind of question; a kind without an answer waits for a person."""

    clarify: Annotated[str, Field(min_length=1)] | None = None
    pause: Annotated[str, Field(min_length=1)] | None = None
    approval: Literal["once", "tool", "always", "deny"] | None = None

    def answer_to(self, kind: str) -> str | None:
        """The answer to a question of a kind, if there is one."""
        answers: dict[str, str | None] = self.to_json()
        return answers.get(kind)

"""The input of every machine that runs as an agent: the first fields of its context."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from rawko.vocabulary.agent import Limits
from rawko.vocabulary.base import Data
from rawko.vocabulary.plan import Plan


class AgentInput(Data):
    """The input of one run of an agent. The context class of a machine that runs as an agent extends it.

    Attributes:
        agent: Name of the agent; the actors look up its configuration by this name.
        prompt: First message of the user; if empty, the machine waits in `idle` for a USER_MESSAGE.
        messages: The conversation as wire messages `{role, content: [block]}`, those of a resumed run first (C-35).
        seed: The only source of randomness.
        is_interactive: True for a conversation: `complete` leads to `idle` and a limit to `paused`. False: both end the
            machine (C-20, C-58).
        can_update_plan: Whether the model is offered the tool `update_plan`.
    """

    agent: str = "agent"
    prompt: str = ""
    messages: list[dict[str, Any]] = Field(default_factory=list)
    plan: Plan | None = None
    limits: Limits = Limits()
    seed: int | str = 0
    is_interactive: bool = False
    can_update_plan: bool = True

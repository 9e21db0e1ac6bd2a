"""The rate limits of a run: tool calls and model calls per minute; all machines of the run share them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from rawko.vocabulary.base import Data


class Rate(Data):
    """Limits within any 60 seconds; None: no limit.

    Attributes:
        tools_per_minute: Tool calls that pass the gate.
        calls_per_minute: Model calls, including the arbiter's and retries.
    """

    tools_per_minute: Annotated[int, Field(ge=1, le=100_000)] | None = None
    calls_per_minute: Annotated[int, Field(ge=1, le=100_000)] | None = None

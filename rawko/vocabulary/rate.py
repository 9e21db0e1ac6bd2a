"""How often a run may act: tool calls and model calls in a minute; shared by every machine of its tree."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from rawko.vocabulary.base import Data


class Rate(Data):
    """Bounds within any 60 seconds; None where there is none.

    Attributes:
        tools_per_minute: Tool calls that pass the gate.
        calls_per_minute: Calls of models, the arbiter's and those that are tried again included.
    """

    tools_per_minute: Annotated[int, Field(ge=1, le=100_000)] | None = None
    calls_per_minute: Annotated[int, Field(ge=1, le=100_000)] | None = None

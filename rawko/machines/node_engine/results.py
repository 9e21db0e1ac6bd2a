"""What one attempt of a node came to, and the kinds of numbers and names that it is made of."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from rawko.vocabulary.base import Data
from rawko.vocabulary.errors import ErrorContext

NodeResult: TypeAlias = Literal["SUCCESS", "FAILURE"]

Count = Annotated[int, Field(ge=0)]
Milliseconds = Annotated[int, Field(ge=0)]
Name = Annotated[str, Field(min_length=1)]


class EngineResult(Data):
    """What one attempt came to, as `run_once` says it (NE-009, NE-010).

    Attributes:
        outcome: None is what an engine says that does not know; it is decided as a failure (C-60).
        next_node: Where to go on; the current node for a retry.
        retry_delay_ms: Wait so long first; 0 is at once, None is no wait (C-63).
        backtracked: `next_node` is a way back.
        events: What the node tells, for whoever persists.
        data: Changes of the state's data, by key.
        tokens: What the attempt used.
        is_retryable: The same attempt may succeed later; asked where the chart decides.
    """

    outcome: NodeResult | None = None
    next_node: Name | None = None
    retry_delay_ms: Milliseconds | None = None
    backtracked: bool = False
    events: tuple[dict[str, Any], ...] = ()
    data: dict[str, Any] = Field(default_factory=dict)
    tokens: Count = 0
    is_retryable: bool = True
    error: ErrorContext | None = None

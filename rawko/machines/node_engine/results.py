"""The result of one attempt of a node, and the types of its fields."""

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
    """The result of one attempt, as `run_once` returns it (NE-009, NE-010).

    Attributes:
        outcome: None: the engine does not know; it is decided as a failure (C-60).
        next_node: The node to continue with; the current node for a retry.
        retry_delay_ms: Delay before `next_node`; 0: a delay that ends at once; None: no delay (C-63).
        backtracked: `next_node` is a step back.
        events: Events of the node for `on_persist`.
        data: Changes of the state's data, by key.
        tokens: Tokens used by the attempt.
        is_retryable: The same attempt may succeed later; used where the chart decides.
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

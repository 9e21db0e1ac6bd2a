"""The plan that agents work through, and the validated patches that change it (C-36, C-45).

`current_step_index` counts from 0; `PlanStep.index` counts from 1, as prompts and people do.
"""

from __future__ import annotations

from typing import Literal

from rawko.vocabulary.base import Data

StepStatus = Literal["pending", "in_progress", "complete", "failed", "skipped"]


class PlanStep(Data):
    """One step. `index` counts from 1."""

    index: int
    description: str
    status: StepStatus = "pending"
    agent_used: str | None = None


class Plan(Data):
    """Steps in order. `current_step_index` counts from 0 and may equal `len(steps)` when all are done."""

    steps: tuple[PlanStep, ...]
    current_step_index: int = 0
    is_complete: bool = False

"""The input and the context of a parallel plan. All of it is JSON (C-26)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from rawko.machines.agent_input import AgentInput
from rawko.machines.parallel_plan.steps import GivenSteps, Step
from rawko.vocabulary.agent import Name
from rawko.vocabulary.base import Data
from rawko.vocabulary.snapshot import Snapshot

Outcome = Literal["success", "failure", "cancelled"]


class ParallelPlanParameters(Data):
    """The agents and rules of a parallel plan; `parameters` of the agent's file.

    Attributes:
        planner: The agent that writes the plan where `steps` is empty.
        worker: The agent that carries out the steps.
        steps: A plan that a person has written.
        check: A command that must pass on the files after each adoption.
        tries: Most lanes of one step; the second begins with the files as they are at that time.
        at_a_time: Lanes that run side by side; None: as many as the setting `lanes.jobs` allows.
    """

    planner: Name = "planner"
    worker: Name = "developer"
    steps: GivenSteps = ()
    check: Annotated[str, Field(min_length=1)] | None = None
    tries: Annotated[int, Field(ge=1, le=2)] = 2
    at_a_time: Annotated[int, Field(ge=1)] | None = None


class ParallelPlanContext(AgentInput):
    """The context of the machine: its input, then its state.

    Attributes:
        queue: Lanes of the wave whose changes are still to be adopted: `{step, run}`.
        before, after: Snapshots before and after the current adoption.
    """

    parameters: ParallelPlanParameters = ParallelPlanParameters()
    steps: tuple[Step, ...] = ()
    waves: int = 0
    queue: tuple[dict[str, Any], ...] = ()
    before: Snapshot | None = None
    after: Snapshot | None = None
    diff: str = ""
    error: dict[str, Any] | None = None
    outcome: Outcome | None = None

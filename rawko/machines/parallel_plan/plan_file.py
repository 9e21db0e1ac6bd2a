"""The file of a person's plan, for `rawko parallel --plan`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from rawko.machines.parallel_plan.steps import GivenSteps
from rawko.vocabulary.base import Data


class PlanFile(Data):
    """A plan file: its steps, each with the ids of the steps that it needs."""

    steps: Annotated[GivenSteps, Field(min_length=1)]

"""The steps of a parallel plan: their dependencies, and which of them are ready. Pure.

lexer        needs nothing            wave 1: lexer, docs
docs         needs nothing            wave 2: parser
parser       needs lexer
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field

from rawko.vocabulary.agent import Name
from rawko.vocabulary.base import Data
from rawko.vocabulary.documents import accepted

Status = Literal["pending", "complete", "failed", "skipped"]
AGAIN: Final = "_again"
"""Suffix of the name of a step's second lane."""
MAX_STEPS: Final = 64


class PlannedStep(Data):
    """One step of the plan as the planner or a person gives it.

    Attributes:
        id: Name of the step and of its lane.
        task: The task of the step, in words.
        agent: The agent that carries it out; None: the plan's `worker`.
        needs: Ids of the steps that must be complete before it begins.
    """

    id: Annotated[str, Field(pattern=r"^[a-z0-9]+([_-][a-z0-9]+)*$", max_length=26)]
    task: Annotated[str, Field(min_length=1, max_length=100_000)]
    agent: Name | None = None
    needs: tuple[str, ...] = ()


class Step(PlannedStep):
    """One step with its state.

    Attributes:
        tries: Number of lanes that it has had.
        run: Run of its last lane.
        why: Why it is not complete; its second lane is told.
        diff: Changes of the rejected lane.
    """

    status: Status = "pending"
    tries: int = 0
    run: str = ""
    summary: str = ""
    files: tuple[str, ...] = ()
    why: str = ""
    diff: str = ""
    cost_usd: float | None = None


def checked_steps(steps: Sequence[PlannedStep]) -> tuple[PlannedStep, ...]:
    """The steps unchanged, if every needed step exists and no steps need each other in a circle.

    Raises:
        ValueError: Two steps have one id, a needed step does not exist, or steps form a circle.
    """
    ids = [step.id for step in steps]
    for step in steps:
        if ids.count(step.id) > 1:
            raise ValueError(f"two steps have the id {step.id!r}; each needs one of its own")
        if step.id.endswith(AGAIN):
            raise ValueError(f"the id {step.id!r} ends with {AGAIN!r}, which is for second tries")
        for needed in step.needs:
            if needed not in ids:
                raise ValueError(f"step {step.id!r} needs {needed!r}, which is no step{accepted(ids, found=needed)}")
    if circle := _circle({step.id: step.needs for step in steps}):
        raise ValueError(f"the steps need each other in a circle: {' → '.join(circle)}")
    return tuple(steps)


def _circle(needs: Mapping[str, Iterable[str]]) -> list[str]:
    """The ids of steps that form a circle, the first repeated at the end; empty where there is none."""
    done: set[str] = set()
    for start in needs:
        path: list[str] = []
        todo = [(start, iter(needs[start]))]
        path.append(start)
        while todo:
            id, rest = todo[-1]
            found = next((one for one in rest if one not in done), None)
            if found is None:
                done.add(id)
                todo.pop()
                path.pop()
            elif found in path:
                return [*path[path.index(found) :], found]
            else:
                path.append(found)
                todo.append((found, iter(needs[found])))
    return []


GivenSteps = Annotated[tuple[PlannedStep, ...], Field(max_length=MAX_STEPS), AfterValidator(checked_steps)]


def planned(patch: Any) -> tuple[PlannedStep, ...]:
    """The steps of a planner's `update_plan` call; step 1 gets the id "step-1", and so on.

    Raises:
        ValueError: The call has no steps, or more than `MAX_STEPS`, or its steps form a circle.
    """
    written = (patch or {}).get("steps") or ()
    if not written:
        raise ValueError("the planner has written no plan: it must call update_plan with steps")
    if len(written) > MAX_STEPS:
        raise ValueError(f"the plan has {len(written)} steps; accepted: at most {MAX_STEPS}")
    steps = [
        PlannedStep(
            id=f"step-{place}", task=step["description"], needs=tuple(f"step-{one}" for one in step.get("needs") or ())
        )
        for place, step in enumerate(written, start=1)
    ]
    return checked_steps(steps)


def is_ready(step: Any, steps: Iterable[Any]) -> bool:
    """Whether a step is ready to begin: it is pending, and all steps that it needs are complete."""
    complete = {one["id"] for one in steps if one["status"] == "complete"}
    return bool(step["status"] == "pending" and set(step["needs"]) <= complete)

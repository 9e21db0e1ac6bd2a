"""The plan of a task, and the validated patches that change it (C-36, C-45).

`current_step_index` counts from 0; `PlanStep.index` counts from 1, as prompts and people do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from rawko.vocabulary.base import Data

StepStatus = Literal["pending", "in_progress", "complete", "failed", "skipped"]

FINISHED: frozenset[StepStatus] = frozenset({"complete", "skipped"})
"""Statuses of a finished step."""

Description = Annotated[str, Field(min_length=1, max_length=2000)]


Needs = Annotated[tuple[int, ...], Field(max_length=100, exclude_if=lambda needs: not needs)]
"""Indexes of the steps that must finish before this step begins; left out of the JSON if there are none."""


class PlanStep(Data):
    """One step. `index` counts from 1."""

    index: int
    description: str
    status: StepStatus = "pending"
    agent_used: str | None = None
    needs: Needs = ()


class Plan(Data):
    """Steps in order. `current_step_index` counts from 0; it is `len(steps)` when all are finished."""

    steps: tuple[PlanStep, ...]
    current_step_index: int = 0
    is_complete: bool = False


class NewStep(Data):
    """A step of a list that replaces all steps. `index` is optional; if given, it is the step's place, from 1."""

    description: Description
    index: int | None = None
    status: StepStatus = "pending"
    agent_used: str | None = None
    needs: Needs = ()


class StepUpdate(Data):
    """A change of one step, identified by its `index` from 1; fields that are None keep their value."""

    index: int
    description: Description | None = None
    status: StepStatus | None = None
    agent_used: str | None = None


class PlanPatch(Data):
    """A change of a plan; fields that are None keep their value.

    Attributes:
        steps: All steps, in order; they replace the existing ones. The first plan needs them.
        step_updates: Changes of single steps, applied after `steps`.
        current_step_index: The step in progress, from 0; the number of steps if all are finished.
    """

    steps: Annotated[tuple[NewStep, ...], Field(min_length=1, max_length=100)] | None = None
    step_updates: tuple[StepUpdate, ...] = ()
    current_step_index: int | None = None
    is_complete: bool | None = None


class PlanError(ValueError):
    """A patch that does not fit the plan. The message says what is wrong and what is accepted."""


def merge_plan(plan: Plan | None, patch: PlanPatch) -> Plan:
    """The plan with the patch applied; the plan itself is not changed.

    If a patch finishes the current step and names no next one, the first unfinished step becomes the current one.

    Raises:
        PlanError: There is no plan and the patch has no steps; an index is outside the plan or occurs twice; the
            patch says the plan is complete but steps are unfinished; the patch is empty.

    Source: S3-033, C-36, C-45.
    """
    if patch == PlanPatch():
        raise PlanError("the patch is empty: give steps, step_updates, current_step_index or is_complete")
    steps = _updated(_replaced(plan, patch), patch.step_updates)
    is_complete = _kept_flag(plan, patch)
    current = _current_index(plan, patch, steps)
    _check_complete(is_complete, steps)
    return Plan(steps=steps, current_step_index=current, is_complete=is_complete)


def diff_plans(before: Plan | None, after: Plan) -> PlanPatch | None:
    """The smallest patch with which `merge_plan` turns `before` into `after`; None if they are equal."""
    if before == after:
        return None
    moved = before is None or before.current_step_index != after.current_step_index
    flagged = before is None or before.is_complete != after.is_complete
    is_same_list = before is not None and len(before.steps) == len(after.steps)
    updates = _step_diffs(before.steps, after.steps) if before is not None and is_same_list else None
    # merge_plan moves on when the current step is finished, so every patch names the current step.
    says_place = moved or flagged or updates is None or bool(updates)
    return PlanPatch(
        steps=None if updates is not None else tuple(NewStep(**step.to_json()) for step in after.steps),
        step_updates=updates or (),
        current_step_index=after.current_step_index if says_place else None,
        is_complete=after.is_complete if flagged or updates is None else None,
    )


def _replaced(plan: Plan | None, patch: PlanPatch) -> tuple[PlanStep, ...]:
    if patch.steps is None:
        if plan is None:
            raise PlanError("there is no plan yet: the first patch must bring 'steps', each with a 'description'")
        return plan.steps
    for place, step in enumerate(patch.steps, start=1):
        if step.index not in (None, place):
            raise PlanError(f"steps: step {place} of the list says index {step.index}; leave index out or count from 1")
    _check_needs([step.needs for step in patch.steps])
    return tuple(PlanStep(**{**step.to_json(), "index": place}) for place, step in enumerate(patch.steps, start=1))


def _check_needs(needs: Sequence[Sequence[int]]) -> None:
    """Raise PlanError if a step needs a step that does not exist, or if steps need each other in a circle.

    To find circles, all steps whose needs are already removed are removed, until no such step is left:

        needs ((), (1,), (4,), (3,))    remove 1, then 2; steps 3 and 4 are left: a circle
    """
    for place, named in enumerate(needs, start=1):
        for one in named:
            if not 1 <= one <= len(needs):
                raise PlanError(
                    f"steps: step {place} needs step {one}, which there is not; steps are 1 to {len(needs)}"
                )
    left = set(range(1, len(needs) + 1))
    while free := {place for place in left if left.isdisjoint(needs[place - 1])}:
        left -= free
    if left:
        raise PlanError(f"steps: these need each other in a circle: {', '.join(map(str, sorted(left)))}")


def _updated(steps: tuple[PlanStep, ...], updates: Sequence[StepUpdate]) -> tuple[PlanStep, ...]:
    changed = list(steps)
    seen: set[int] = set()
    for update in updates:
        if not 1 <= update.index <= len(steps):
            raise PlanError(f"step_updates: there is no step {update.index}; steps are 1 to {len(steps)}")
        if update.index in seen:
            raise PlanError(f"step_updates: step {update.index} is named twice")
        seen.add(update.index)
        fields = update.model_dump(exclude_none=True, exclude={"index"})
        changed[update.index - 1] = changed[update.index - 1].model_copy(update=fields)
    return tuple(changed)


def _kept_flag(plan: Plan | None, patch: PlanPatch) -> bool:
    if patch.is_complete is not None:
        return patch.is_complete
    return plan.is_complete if plan is not None and patch.steps is None else False


def _current_index(plan: Plan | None, patch: PlanPatch, steps: tuple[PlanStep, ...]) -> int:
    if patch.current_step_index is not None:
        if not 0 <= patch.current_step_index <= len(steps):
            raise PlanError(
                f"current_step_index {patch.current_step_index} is outside the plan; "
                f"it counts from 0 to {len(steps)} ({len(steps)}: all steps are done)"
            )
        return patch.current_step_index
    start = plan.current_step_index if plan is not None and patch.steps is None else 0
    return next((i for i in range(start, len(steps)) if steps[i].status not in FINISHED), len(steps))


def _check_complete(is_complete: bool, steps: tuple[PlanStep, ...]) -> None:
    still_open = [str(step.index) for step in steps if step.status not in FINISHED]
    if is_complete and still_open:
        raise PlanError(
            f"is_complete is true but these steps are not complete or skipped: {', '.join(still_open)}; "
            "update their status as well, or leave is_complete false"
        )


def _step_diffs(before: Sequence[PlanStep], after: Sequence[PlanStep]) -> tuple[StepUpdate, ...] | None:
    """Updates of single steps; None if updates cannot express a change: `agent_used` became None, or needs changed."""
    updates: list[StepUpdate] = []
    for old, new in zip(before, after, strict=True):
        if old == new:
            continue
        if (new.agent_used is None and old.agent_used is not None) or new.needs != old.needs:
            return None
        fields = {k: v for k, v in new.to_json().items() if k != "index" and v != getattr(old, k)}
        updates.append(StepUpdate(index=new.index, **fields))
    return tuple(updates)

"""A step as a row of a page's list; rows are short, since a page may have a hundred thousand of them."""

from __future__ import annotations

from typing import Any, Final

from rawko.app.inspection.aligning import Done
from rawko.app.views.steps import StepView

LEFT: Final = 14
"""The column that tells whether a rewind left the step behind."""


def row_of(view: StepView) -> list[Any]:
    """The row of a step; `ROW` in `pages/model.js` names the columns."""
    return [
        view.number,
        round(view.seconds, 3),
        view.agent,
        view.actor,
        view.kind.value,
        view.words,
        view.detail,
        view.event,
        int(view.is_error),
        None if view.took_s is None else round(view.took_s, 3),
        view.tokens_in,
        view.tokens_out,
        view.cost_usd,
        [[one.path, one.kind, one.added_lines, one.removed_lines, int(one.is_binary)] for one in view.files],
        int(view.is_left_behind),
        list(view.states),
        view.call_id,
        view.snapshot,
        None if view.leaves_behind is None else list(view.leaves_behind),
        view.of_step,
    ]


def done_of(row: list[Any]) -> Done:
    """The fields of a row by which two runs are compared."""
    return Done(row[0], row[2], row[4], row[5], bool(row[8]), bool(row[LEFT]))

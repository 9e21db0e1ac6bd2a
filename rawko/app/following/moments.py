"""What held after each step of a run: the active states, who worked, the plan, and what was used by then.

A viewer that goes back to a step asks for its moment. What did not change between two steps is held once. Totals are
kept for every 250th step alone, and those of a step are worked out from the nearest ones before it:

    kept after 250, 500, 750        asked: 600  ->  a copy of those after 500, and 100 steps more
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from rawko.app.views.folding import StepFold
from rawko.app.views.plan import PlanStep
from rawko.app.views.steps import StepView
from rawko.app.views.totals import Totals

KEPT_EVERY: Final = 250
"""Steps between two totals that are kept."""


@dataclass(frozen=True, slots=True)
class Moment:
    """What held after a step.

    Attributes:
        configurations: Active states by the path of their machine.
        agent: Who worked, or had worked last.
    """

    configurations: Mapping[str, tuple[str, ...]]
    agent: str
    plan: tuple[PlanStep, ...]


class Moments:
    """The moments of the steps that were read.

    Args:
        agent: The one that runs alone; None under the arbiter.

    Attributes:
        totals: After the latest step.
    """

    def __init__(self, agent: str | None = None) -> None:
        self._alone = agent
        self._moment = Moment({}, agent or "", ())
        self._moments: list[Moment] = []
        self._views: list[StepView] = []
        self._costs: list[float | None] = []
        self._kept: list[Totals] = [Totals()]
        self.totals = Totals()

    def begin(self, agent: str) -> None:
        """Who had worked last, where the first step that is added is not the run's first."""
        self._moment = Moment({}, self._alone or agent, ())

    def add(self, view: StepView, fold: StepFold, plan: tuple[PlanStep, ...]) -> None:
        """Add the next step, with what is known and the plan after it."""
        configurations = fold.configurations
        before = self._moment
        agent = view.agent if self._alone is None and "/" in view.actor else before.agent
        if configurations != before.configurations or (agent, plan) != (before.agent, before.plan):
            self._moment = Moment(configurations, agent, plan)
        self._moments.append(self._moment)
        self._views.append(view)
        if view.usage.total_tokens or len(self._costs) == 0:
            self._costs.append(fold.cost_usd)
        else:
            self._costs.append(self._costs[-1])
        self.totals.take([view], self._state_of)
        if len(self._views) % KEPT_EVERY == 0:
            self._kept.append(self.totals.copy())

    def at(self, step: int) -> Moment | None:
        """The moment after a step; None where it was not read."""
        index = self._index(step)
        return self._moments[index] if index >= 0 else None

    def cost_at(self, step: int) -> float | None:
        """What all calls until a step have cost, in US dollars; None where there were none, or no price is known."""
        index = self._index(step)
        return self._costs[index] if index >= 0 else None

    def totals_at(self, step: int) -> Totals:
        """What was used until a step, of the steps that were read."""
        until = self._index(step) + 1
        kept = until // KEPT_EVERY
        found = self._kept[kept].copy()
        found.take(self._views[kept * KEPT_EVERY : until], self._state_of)
        return found

    def _index(self, step: int) -> int:
        return bisect_right(self._views, step, key=_number) - 1

    def _state_of(self, step: int) -> str:
        """The innermost state after a step; "" where it was not read."""
        index = self._index(step)
        if index < 0 or self._views[index].number != step or not self._views[index].states:
            return ""
        return self._views[index].states[-1]


def _number(view: StepView) -> int:
    return view.number

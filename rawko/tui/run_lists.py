"""Puts news of the run into the lists of steps, conversation, plan and cost.

The work of an update depends on the news, not on the length of the run. Whether a rewind left a step behind is looked
up when the step is drawn.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from rawko.app.following.reading import Output
from rawko.app.following.watching import News, Watched
from rawko.app.time_travel.explain import Explanation
from rawko.app.views.conversation import Entry
from rawko.app.views.plan import PlanStep
from rawko.app.views.steps import StepKind, StepView
from rawko.app.views.totals import Spent, Totals
from rawko.app.views.words import output_lines
from rawko.tui.drawing.cells import CellLine, block, wrapped
from rawko.tui.drawing.conversation import draw_entry
from rawko.tui.drawing.plan_and_cost import SpentRow, draw_plan, draw_spent
from rawko.tui.drawing.steps import Step, draw_step
from rawko.tui.widgets.lines import Lines
from rawko.vocabulary.usage import Usage
from rawko.vocabulary.visible import VisibleStream

WINDOW: Final = 200
"""The number of conversation entries that are placed at first, and each time a person scrolls up."""
LIVE_CHARS: Final = 2_000
"""The most characters of arriving text; its end is kept."""
_HIDDEN: Final = (StepKind.PLUMBING, StepKind.SNAPSHOT)
_ENDS_OF_TEXT: Final = frozenset({StepKind.MODEL, StepKind.ERROR, StepKind.TRAVEL, StepKind.END})
"""Kinds of steps after which arriving text is in a row, or void."""
_ENDS_OF_OUTPUT: Final = frozenset({StepKind.TOOL, StepKind.COMMAND, *_ENDS_OF_TEXT})


class RunLists:
    """The lists of steps, conversation, plan and usage, with their content.

    Attributes:
        all: All steps that were read, including hidden ones.
        agent: The working agent, by the latest steps.
        live: The end of the arriving text; `output` is the running command's output.
        shows_all: Whether steps between machines are shown too.
        step: Number of the step at which conversation, plan and cost are shown; None: now.
    """

    def __init__(self) -> None:
        self.steps: Lines[Step] = Lines(self._draw_step, id="steps", empty="no steps yet")
        self.talk: Lines[Entry] = Lines(self._draw_entry, id="talk", is_flat=False, empty="nothing was said yet")
        self.plan: Lines[PlanStep] = Lines(draw_plan, id="plan", follows=False, empty="no plan")
        self.used: Lines[SpentRow] = Lines(draw_spent, id="used", follows=False, empty="nothing was used yet")
        self.all: list[Step] = []
        self._people: list[Step] = []
        self.agent = ""
        self.live = ""
        self.output: Output | None = None
        self.shows_all = False
        self.step: int | None = None
        self._watched: Watched | None = None
        self._most = WINDOW
        self._said: list[int] = []
        self._read = 0
        self._entries: list[Entry] = []
        self._plan: tuple[PlanStep, ...] = ()
        self._live_row = 0
        self._spoken = 0
        self._stream = VisibleStream()

    def take(self, news: News, watched: Watched) -> None:
        """Take the news of one reading of the run."""
        self._watched = watched
        if news.steps:
            self._take_steps(news, watched)
            self._take_talk(watched, is_rewound=news.is_rewound)
            if self.step is None:
                self.used.reset(_spent_so_far(watched))
        if watched.plan != self._plan and self.step is None:
            self._plan = watched.plan
            self.plan.reset(list(watched.plan))
        self._take_output(news, is_at_work=watched.is_at_work)
        self._take_pieces(news, is_at_work=watched.is_at_work)

    def take_earlier(self, views: Sequence[StepView], watched: Watched) -> None:
        """Replace the steps by a longer list with earlier steps; the cursor and open items stay."""
        self._watched = watched
        known = {step.view.number: step for step in self.steps.items if step.detail is not None}
        self.all = [known.get(view.number) or Step(view) for view in views]
        self._people = [one for one in self.all if _is_for_people(one)]
        self.show_steps()
        self._entries = entries = watched.conversation.entries
        self._read = len(entries)
        if self.step is not None:
            self._said = self._before(len(entries), WINDOW)
            self.show_earlier()
            return
        talk, there = self.talk, len(self._said)
        self._said = self._before(len(entries), max(there, WINDOW))
        more = len(self._said) - there
        if talk.is_at_end or more < 0:
            self._place_said()
        else:
            self._place_said(talk.cursor + more, {index + more for index in talk.opened})
        self.used.reset(_spent_so_far(watched))

    @property
    def selected(self) -> int | None:
        """Number of the step under the cursor; None at the latest step, which means now."""
        current = self.steps.current
        return None if current is None or self.steps.is_at_end else current.view.number

    def go_to(self, step: int | None) -> None:
        """Show conversation, plan and cost as they were at a step; None: now."""
        watched = self._watched
        if watched is None:
            return
        moment = None if step is None else watched.moments.at(step)
        self.step = None if moment is None else step
        self._most = WINDOW
        if step is None or moment is None:
            self._show_latest(is_back=True)
            self._plan = watched.plan
            self.used.reset(_spent_so_far(watched))
        else:
            said = watched.said_at(step, self._most)
            self.talk.reset(said, cursor=max(len(said) - 1, 0))
            self._plan = moment.plan
            cost_usd = watched.moments.cost_at(step)
            if watched.joined_at:
                self.used.reset([SpentRow("", "", Spent(cost_usd=cost_usd))])
            else:
                self.used.reset(spent_rows(watched.moments.totals_at(step), cost_usd))
        self.plan.reset(list(self._plan))

    # ------------------------------------------------------------ steps

    def _take_steps(self, news: News, watched: Watched) -> None:
        steps = [Step(view) for view in news.steps]
        self.agent = next((view.agent for view in reversed(news.steps) if "/" in view.actor), self.agent)
        if watched.record.agent is not None:
            self.agent = watched.record.agent
        people = [one for one in steps if _is_for_people(one)]
        self.all += steps
        self._people += people
        self.steps.append(steps if self.shows_all else people)
        if news.is_rewound:
            self.steps.repaint()

    def _draw_step(self, step: Step, width: int, is_open: bool) -> Sequence[CellLine]:
        is_left = self._watched is not None and self._watched.line.leaves_behind(step.view.number)
        return draw_step(step, width, is_open, is_left)

    def show_steps(self) -> None:
        """Place all steps again, after the choice of shown steps changed. No step is drawn for this."""
        steps = self.steps
        current, is_last = steps.current, steps.is_at_end
        opened = [steps.items[index].view.number for index in steps.opened]
        shown = self.all if self.shows_all else self._people
        cursor = None if is_last or current is None else bisect_left(shown, current.view.number, key=_number)
        places = (bisect_left(shown, number, key=_number) for number in opened)
        still = {at for at, number in zip(places, opened, strict=True) if _number_at(shown, at) == number}
        steps.reset(shown, cursor=cursor, opened=still)

    def explain(self, number: int, detail: Explanation | str) -> None:
        """Store the explanation of a step, or the text of the error that prevented it."""
        for steps in (self.all, self._people, self.steps.items):
            at = bisect_left(steps, number, key=_number)
            if _number_at(steps, at) != number:
                continue
            told = replace(steps[at], detail=detail)
            if steps is self.steps.items:
                self.steps.put(at, told)
            else:
                steps[at] = told

    # ------------------------------------------------------------ conversation

    def _take_talk(self, watched: Watched, *, is_rewound: bool) -> None:
        self._entries = entries = watched.conversation.entries
        line = watched.line
        if is_rewound:
            self._show_latest()
        else:
            if self.step is None and watched.conversation.changed is not None:
                self._update(watched.conversation.changed)
            new = [n for n in range(self._read, len(entries)) if not line.leaves_behind(entries[n].row)]
            self._said += new
            if watched.is_catching_up and len(self._said) > 2 * WINDOW:
                self._show_latest()
            elif self.step is None:
                self.talk.append([entries[number] for number in new])
        watched.conversation.changed = None
        self._read = len(entries)

    def _update(self, changed: int) -> None:
        """Replace entries that have received their result."""
        for place in range(bisect_left(self._said, changed), len(self._said)):
            entry = self._entries[self._said[place]]
            if self.talk.items[place] is not entry:
                self.talk.put(place, entry)

    def _before(self, end: int, most: int) -> list[int]:
        """Indices of the last `most` entries before `end`, in order, without entries that a rewind left behind."""
        line, found = None if self._watched is None else self._watched.line, list[int]()
        for number in range(end - 1, -1, -1):
            if line is None or not line.leaves_behind(self._entries[number].row):
                found.append(number)
                if len(found) >= most:
                    break
        return found[::-1]

    def _show_latest(self, *, is_back: bool = False) -> None:
        """Place the latest entries; `is_back`: an earlier step was shown before, so the cursor goes to the last
        entry."""
        self._said = self._before(len(self._entries), WINDOW)
        if self.step is None:
            self._place_said(max(len(self._said) - 1, 0) if is_back else None)

    def _place_said(self, cursor: int | None = None, opened: set[int] | None = None) -> None:
        self.talk.reset([self._entries[number] for number in self._said], cursor=cursor, opened=opened)

    def show_earlier(self) -> bool:
        """Place earlier entries of the conversation above the first; False where none were read."""
        talk = self.talk
        if self.step is not None and self._watched is not None:
            there = len(talk.items)
            self._most = there + WINDOW
            said = self._watched.said_at(self.step, self._most)
            added = len(said) - there
            if added > 0:
                talk.reset(said, cursor=added - 1, opened={index + added for index in talk.opened})
            return added > 0
        more = self._before(self._said[0] if self._said else 0, WINDOW)
        if more:
            self._said = more + self._said
            self._place_said(len(more) - 1, {index + len(more) for index in talk.opened})
        return bool(more)

    def _draw_entry(self, entry: Entry, width: int, is_open: bool) -> Sequence[CellLine]:
        lines, output = draw_entry(entry, width, is_open), self.output
        if not is_open or output is None or output.call != entry.call_id or entry.result is not None:
            return lines
        told = (piece for one in output_lines(output.tail) for piece in wrapped(one, width - 2))
        return [*lines, ((f"  {output.bytes:,} bytes so far", "dim"),), *block(told, "", indent=2)]

    def _take_output(self, news: News, *, is_at_work: bool) -> None:
        """Show the running command's latest output, until a step reports its end."""
        before = self.output
        if news.output is not None:
            self.output = news.output
        ended = [view for view in news.steps if view.kind in _ENDS_OF_OUTPUT]
        if self.output is not None and (not is_at_work or (ended and ended[-1].number > self.output.row)):
            self.output = None
        if self.output is not before and self.step is None:
            for index in self.talk.opened:
                if self.talk.items[index].result is None:
                    self.talk.redraw(index)

    def _take_pieces(self, news: News, *, is_at_work: bool) -> None:
        spoken = [view.number for view in news.steps if view.kind in _ENDS_OF_TEXT]
        if spoken:
            self.live, self._stream, self._spoken = "", VisibleStream(), spoken[-1]
        for piece in news.pieces:
            if piece.row < self._spoken:
                continue  # the text is in a row now
            if piece.row > self._live_row:
                self.live, self._stream, self._live_row = "", VisibleStream(), piece.row
            self.live = (self.live + self._stream.feed(piece.text))[-LIVE_CHARS:]
        if not is_at_work:
            self.live = ""


def _is_for_people(step: Step) -> bool:
    return step.view.kind not in _HIDDEN or bool(step.view.files)


def _number(step: Step) -> int:
    return step.view.number


def _number_at(steps: Sequence[Step], index: int) -> int | None:
    return steps[index].view.number if index < len(steps) else None


def _spent_so_far(watched: Watched) -> list[SpentRow]:
    """Usage until now; only the total where the first steps of the run were not read."""
    fold = watched.reader.fold
    if not watched.joined_at:
        return spent_rows(watched.totals, fold.cost_usd)
    used = sum(fold.usage.values(), start=Usage())
    whole = Spent(used.total_tokens - used.output_tokens, used.output_tokens, fold.cost_usd, used.calls)
    return [SpentRow("", "", whole)]


def spent_rows(totals: Totals, cost_usd: float | None) -> list[SpentRow]:
    """Usage rows: the whole run with its cost, then each agent followed by its states."""
    whole = Spent()
    by_agent: dict[str, list[tuple[str, Spent]]] = {}
    for (agent, state), spent in sorted(totals.by.items()):
        by_agent.setdefault(agent, []).append((state, spent))
        whole.add_all(spent)
    whole.cost_usd = cost_usd
    rows = [SpentRow("", "", whole)]
    for agent, states in by_agent.items():
        together = Spent()
        for _, spent in states:
            together.add_all(spent)
        rows.append(SpentRow(agent or "?", "", together))
        rows += [SpentRow(agent, state or "?", spent) for state, spent in states]
    return rows

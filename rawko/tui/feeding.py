"""Puts what is new of the run into the lists of steps, conversation, plan and cost.

Each look costs what it brings. A rewind, which changes what earlier steps are, goes through all steps once.
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
from rawko.vocabulary.visible import VisibleStream

WINDOW: Final = 200
"""Entries of the conversation that are placed at first, and added as a person goes up."""
LIVE_CHARS: Final = 2_000
"""Of the text that arrives: its end."""
_HIDDEN: Final = (StepKind.PLUMBING, StepKind.SNAPSHOT)
_ENDS_OF_TEXT: Final = frozenset({StepKind.MODEL, StepKind.ERROR, StepKind.TRAVEL, StepKind.END})
"""Kinds of steps after which text that has arrived is in a row, or void."""
_ENDS_OF_OUTPUT: Final = frozenset({StepKind.TOOL, StepKind.COMMAND, *_ENDS_OF_TEXT})


class Feed:
    """The lists, and what is in them.

    Attributes:
        all: Every step, those that are hidden included.
        agent: Who works, by the latest steps.
        live: The end of the text that arrives now; `output` is what the running command has written.
        shows_all: Steps that machines tell each other are shown, too.
        step: Number of the step that conversation, plan and cost are shown of; None: as of now.
    """

    def __init__(self) -> None:
        self.steps: Lines[Step] = Lines(draw_step, id="steps", empty="no steps yet")
        self.talk: Lines[Entry] = Lines(self._draw_entry, id="talk", is_flat=False, empty="nothing was said yet")
        self.plan: Lines[PlanStep] = Lines(draw_plan, id="plan", follows=False, empty="no plan")
        self.used: Lines[SpentRow] = Lines(draw_spent, id="used", follows=False, empty="nothing was used yet")
        self.all: list[Step] = []
        self.agent = ""
        self.live = ""
        self.output: Output | None = None
        self.shows_all = False
        self.step: int | None = None
        self._watched: Watched | None = None
        self._most = WINDOW
        self._said: list[int] = []
        self._read = 0
        self._first = 0
        self._entries: list[Entry] = []
        self._plan: tuple[PlanStep, ...] = ()
        self._live_row = 0
        self._spoken = 0
        self._stream = VisibleStream()

    def take(self, news: News, watched: Watched) -> None:
        """Take what one look has found."""
        self._watched = watched
        if news.steps:
            self._take_steps(news, watched)
            self._take_talk(watched, is_rewound=news.is_rewound)
            if self.step is None:
                self.used.reset(spent_rows(watched.totals, watched.reader.fold.cost_usd))
        if watched.plan != self._plan and self.step is None:
            self._plan = watched.plan
            self.plan.reset(list(watched.plan))
        self._take_output(news, is_at_work=watched.is_at_work)
        self._take_pieces(news, is_at_work=watched.is_at_work)

    def take_whole(self, views: Sequence[StepView], watched: Watched) -> None:
        """Take all steps of a run of which the latest ones were there so far."""
        self._watched = watched
        line, entries = watched.line, watched.conversation.entries
        self.all = [Step(view, line.leaves_behind(view.number)) for view in views]
        self.show_steps()
        self._entries, self._read = entries, len(entries)
        self._said = [number for number, one in enumerate(entries) if not line.leaves_behind(one.row)]
        if self.step is not None:
            self.go_to(self.step)
            return
        self._show_latest()
        self.used.reset(spent_rows(watched.totals, watched.reader.fold.cost_usd))

    @property
    def selected(self) -> int | None:
        """Number of the step under the cursor; None where that is the latest one, which means now."""
        current = self.steps.current
        return None if current is None or self.steps.is_at_end else current.view.number

    def go_to(self, step: int | None) -> None:
        """Show conversation, plan and cost as of a step; None: as of now."""
        watched = self._watched
        if watched is None:
            return
        moment = None if step is None else watched.moments.at(step)
        self.step = None if moment is None else step
        self._most = WINDOW
        if step is None or moment is None:
            self._show_latest(is_back=True)
            self._plan = watched.plan
            self.used.reset(spent_rows(watched.totals, watched.reader.fold.cost_usd))
        else:
            said = watched.said_at(step, self._most)
            self.talk.reset(said, cursor=max(len(said) - 1, 0))
            self._plan = moment.plan
            self.used.reset(spent_rows(watched.moments.totals_at(step), watched.moments.cost_at(step)))
        self.plan.reset(list(self._plan))

    # ------------------------------------------------------------ steps

    def _take_steps(self, news: News, watched: Watched) -> None:
        steps = [Step(view, watched.line.leaves_behind(view.number)) for view in news.steps]
        self.agent = next((view.agent for view in reversed(news.steps) if "/" in view.actor), self.agent)
        if watched.record.agent is not None:
            self.agent = watched.record.agent
        self.all += steps
        if news.is_rewound:
            self.all = [replace(one, is_left_behind=watched.line.leaves_behind(one.view.number)) for one in self.all]
            self.show_steps()
        else:
            self.steps.append([one for one in steps if self._is_shown(one)])

    def _is_shown(self, step: Step) -> bool:
        return self.shows_all or step.view.kind not in _HIDDEN or bool(step.view.files)

    def show_steps(self) -> None:
        """Place all steps again: what is shown of them has changed."""
        current = self.steps.current
        is_last = self.steps.cursor >= len(self.steps.items) - 1
        shown = [one for one in self.all if self._is_shown(one)]
        cursor = None if is_last or current is None else bisect_left(shown, current.view.number, key=_number)
        self.steps.reset(shown, cursor=cursor)

    def explain(self, number: int, detail: Explanation | str) -> None:
        """What was read of a step."""
        place = bisect_left(self.all, number, key=_number)
        self.all[place] = replace(self.all[place], detail=detail)
        index = bisect_left(self.steps.items, number, key=_number)
        if index < len(self.steps.items) and self.steps.items[index].view.number == number:
            self.steps.put(index, self.all[place])

    # ------------------------------------------------------------ conversation

    def _take_talk(self, watched: Watched, *, is_rewound: bool) -> None:
        self._entries = entries = watched.conversation.entries
        line, talk = watched.line, self.talk
        if is_rewound:
            self._said = [number for number, one in enumerate(entries) if not line.leaves_behind(one.row)]
            self._show_latest()
        elif self.step is not None:
            new = [n for n in range(self._read, len(entries)) if not line.leaves_behind(entries[n].row)]
            self._said += new
        else:
            if watched.conversation.changed is not None:
                self._update(watched.conversation.changed)
            new = [n for n in range(self._read, len(entries)) if not line.leaves_behind(entries[n].row)]
            self._said += new
            if watched.is_catching_up and len(self._said) - self._first > 2 * WINDOW:
                self._show_latest()
            else:
                talk.append([entries[number] for number in new])
        watched.conversation.changed = None
        self._read = len(entries)

    def _update(self, changed: int) -> None:
        """Entries that have got their result since."""
        for place in range(max(bisect_left(self._said, changed), self._first), len(self._said)):
            entry = self._entries[self._said[place]]
            if self.talk.items[place - self._first] is not entry:
                self.talk.put(place - self._first, entry)

    def _show_latest(self, *, is_back: bool = False) -> None:
        """Place the latest entries; `is_back`: another step was shown before, and the cursor goes to the last one."""
        self._first = max(len(self._said) - WINDOW, 0)
        if self.step is None:
            said = [self._entries[number] for number in self._said[self._first :]]
            self.talk.reset(said, cursor=max(len(said) - 1, 0) if is_back else None)

    def show_earlier(self) -> None:
        """More of the conversation above what is placed."""
        if self.step is not None and self._watched is not None:
            there, self._most = len(self.talk.items), self._most + WINDOW
            said = self._watched.said_at(self.step, self._most)
            added = len(said) - there
            self.talk.reset(said, cursor=max(added - 1, 0), opened={index + added for index in self.talk.opened})
            return
        if not self._first:
            return
        before, self._first = self._first, max(self._first - WINDOW, 0)
        added = before - self._first
        opened = {index + added for index in self.talk.opened}
        entries = [self._entries[number] for number in self._said[self._first :]]
        self.talk.reset(entries, cursor=added - 1, opened=opened)

    def _draw_entry(self, entry: Entry, width: int, is_open: bool) -> Sequence[CellLine]:
        lines, output = draw_entry(entry, width, is_open), self.output
        if not is_open or output is None or output.call != entry.call_id or entry.result is not None:
            return lines
        told = (piece for one in output_lines(output.tail) for piece in wrapped(one, width - 2))
        return [*lines, ((f"  {output.bytes:,} bytes so far", "dim"),), *block(told, "", indent=2)]

    def _take_output(self, news: News, *, is_at_work: bool) -> None:
        """The command's latest output, until a step says that it has ended."""
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
                continue  # a row holds it by now
            if piece.row > self._live_row:
                self.live, self._stream, self._live_row = "", VisibleStream(), piece.row
            self.live = (self.live + self._stream.feed(piece.text))[-LIVE_CHARS:]
        if not is_at_work:
            self.live = ""


def _number(step: Step) -> int:
    return step.view.number


def spent_rows(totals: Totals, cost_usd: float | None) -> list[SpentRow]:
    """The whole run with its cost, then each agent with its states."""
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

"""What a person decides with a key: asked again where work would be lost, then carried out by `rawko.app`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Protocol

from textual.geometry import Size

from rawko.app.following.watching import Watched
from rawko.app.views.machines import Asked
from rawko.app.views.proposal import Proposal, proposal_of
from rawko.app.views.words import line as one_line
from rawko.config import ConfigError, Settings
from rawko.tui.drawing.amounts import file_line
from rawko.tui.drawing.cells import CellLine, diff_style, wrapped
from rawko.tui.feeding import Feed
from rawko.tui.reading import read_setback
from rawko.tui.widgets.dialogs import Answer, Approval, Ask, Choose, Confirm, Dialog
from rawko.vocabulary.shown_states import shown_states
from rawko.vocabulary.visible import exact, exact_line, visible, visible_line

MAX_FILES: Final = 40
"""Paths that a question about a rewind lists."""


class Host(Protocol):
    """A run that works in this process."""

    @property
    def is_done(self) -> bool: ...

    def start(self) -> None:
        """Begin, in the current loop."""
        ...

    def cancel(self) -> None:
        """Ask it to end; the second time, kill what it has started."""
        ...

    async def wait(self) -> None:
        """Wait for its end."""
        ...


class View(Protocol):
    """The app, as far as decisions need it."""

    run_id: str
    current: Settings
    host: Host | None
    watched: Watched | None
    feed: Feed

    @property
    def size(self) -> Size: ...

    def say(self, text: str, style: str = "") -> None: ...

    def exit(self) -> None: ...

    async def push_screen_wait(self, screen: Dialog) -> Answer: ...


class Deciding:
    """Asks and acts for one app.

    Args:
        act: As `rawko.app.inspection.acting.Actor`.
    """

    def __init__(self, app: View, act: Any) -> None:
        self._app = app
        self._act = act
        self._open: Approval | Ask | None = None

    async def decide(self, what: str) -> None:
        """Carry out a key; what goes wrong is said, and nothing is lost."""
        app = self._app
        if app.watched is None:
            app.say("the run is not open yet", "warning")
            return
        try:
            await _WAYS[what](self)
        except ConfigError as error:
            app.say(str(error), "error")

    def check_open_dialog(self, asked: Asked | None) -> None:
        """Close the way to answer a question that is not open any more."""
        dialog = self._open
        if dialog is not None and dialog.is_running and not dialog.is_closed and not _is_same(dialog.number, asked):
            dialog.close_question("this question is answered already")

    async def _show(self, dialog: Dialog) -> Answer:
        return await self._app.push_screen_wait(dialog)

    async def _confirmed(self, title: str, lines: list[CellLine]) -> bool:
        return await self._show(Confirm(title, lines)) is not None

    @property
    def _width(self) -> int:
        return max(min(self._app.size.width * 9 // 10, 120) - 6, 12)

    def _told(self, text: str, style: str = "") -> list[CellLine]:
        return [((line, style),) for line in wrapped(text, self._width)]

    # ------------------------------------------------------------ questions

    async def answer(self) -> None:
        asked = self._asked()
        if asked is None:
            return
        if asked.kind == "approval":
            told = await self._ask_with(Approval(*self._proposal(asked), asked.number))
        else:
            title = f"{visible_line(asked.agent) or 'The agent'} {'has paused' if asked.kind == 'pause' else 'asks'}"
            told = await self._ask_with(Ask(title, self._told(visible(asked.text)), kind="answer", number=asked.number))
        await self._send(told, asked)

    async def deny(self) -> None:
        asked = self._asked()
        if asked is None:
            return
        if asked.kind != "approval":
            self._app.say("the question wants an answer in words: a", "warning")
            return
        title, lines = self._proposal(asked)
        told = await self._ask_with(
            Ask(f"Deny {title}: why? (may stay empty)", lines, kind="deny", number=asked.number, may_be_empty=True)
        )
        await self._send(told, asked)

    def _asked(self) -> Asked | None:
        asked = None if self._app.watched is None else self._app.watched.asked
        if asked is None:
            self._app.say("the run asks nothing now", "warning")
        elif asked.kind == "budget":
            self._app.say("the budget is used up; go on with: rawko resume RUN --max-cost USD", "warning")
            return None
        return asked

    def _proposal(self, asked: Asked) -> tuple[str, list[CellLine]]:
        assert self._app.watched is not None
        if asked.call is None:
            return (
                f"{exact_line(asked.agent)} asks",
                [((line, ""),) for line in wrapped(exact(asked.text), self._width)],
            )
        proposal = proposal_of(asked.call, self._app.watched.record.settings.workspace)
        who = exact_line(asked.agent) or "the agent"
        return f"{who}: {exact_line(proposal.title)}", _proposal_lines(proposal, self._width)

    async def _ask_with(self, dialog: Approval | Ask) -> Answer:
        self._open = dialog
        try:
            return await self._show(dialog)
        finally:
            self._open = None

    async def _send(self, told: Answer, asked: Asked) -> None:
        if told is None:
            return
        now = self._app.watched.asked if self._app.watched is not None else None
        kind, text = told
        done = await self._act.answer(self._app.run_id, kind, text, asked.number, None if now is None else now.number)
        self._said(done)

    def _said(self, done: Any) -> None:
        self._app.say(done.words, "" if done.is_taken else "warning")

    # ------------------------------------------------------------ the run

    async def cancel(self) -> None:
        watched = self._app.watched
        assert watched is not None
        lines = self._told("Its work is ended where it stands:")
        lines += self._at_work()
        lines += self._told(
            "Files stay as they are, all steps are kept. A cancelled run has ended; a rewind (r) brings it back."
        )
        if await self._confirmed(f"Cancel run {visible_line(self._app.run_id)}?", lines):
            self._said(await self._act.cancel(self._app.run_id))

    async def force(self) -> None:
        watched = self._app.watched
        assert watched is not None
        if watched.record.agent is not None:
            raise ConfigError("one agent works alone in this run: fork it with another one")
        agents = watched.record.settings.agents
        choices = [(visible_line(name), one_line(config.when_to_use)[:100]) for name, config in agents.items()]
        told = await self._show(Choose("Who works next?", choices))
        if told is None:
            return
        lines = [
            *self._told("The agent at work is stopped first; what its turn has not finished is lost:"),
            *self._at_work(),
        ]
        if not watched.is_at_work or await self._confirmed(f"Give the work to {told[1]}?", lines):
            self._said(await self._act.override(self._app.run_id, "force", told[1]))

    async def skip(self) -> None:
        watched = self._app.watched
        assert watched is not None
        step = next((one.words for one in watched.plan if one.status in ("in_progress", "pending")), "")
        lines = self._told(f"Left out: {step}" if step else "There is no plan whose step could be left out.")
        lines += [
            *self._told("An agent at work on it is stopped; what its turn has not finished is lost:"),
            *self._at_work(),
        ]
        if await self._confirmed("Skip the plan's step?", lines):
            self._said(await self._act.override(self._app.run_id, "skip", ""))

    async def tell(self) -> None:
        told = await self._show(Ask("What should the arbiter know?", [], kind="tell"))
        if told is not None:
            self._said(await self._act.override(self._app.run_id, "tell", told[1]))

    async def retry(self) -> None:
        self._said(await self._act.override(self._app.run_id, "retry", ""))

    async def resume(self) -> None:
        if self._app.host is not None and not self._app.host.is_done:
            raise ConfigError("the run is at work already")
        self._said(await self._act.resume(self._app.run_id))

    def _at_work(self) -> list[CellLine]:
        watched = self._app.watched
        assert watched is not None
        if not watched.is_at_work:
            return [(("  nothing is at work now", "dim"),)]
        _, states = max(watched.reader.fold.configurations.items(), key=lambda one: one[0].count("/"))
        where = " › ".join(map(visible_line, shown_states(states)))
        return [((f"  {visible_line(self._app.feed.agent) or 'the arbiter'} in {where}", "agent"),)]

    # ------------------------------------------------------------ at a step

    def _number(self) -> int:
        step = self._app.feed.steps.current
        if step is None:
            raise ConfigError("there is no step under the cursor; 2 shows the steps")
        return step.view.number

    async def rewind(self) -> None:
        watched, number = self._app.watched, self._number()
        assert watched is not None
        if watched.is_at_work:
            raise ConfigError("the run is at work; cancel it first (x), then set it back")
        last = watched.reader.last
        back = await read_setback(self._app.run_id, self._app.current, number)
        lines: list[CellLine] = []
        if number < last:
            lines += self._told(
                f"Steps {number + 1} to {last} are left behind, and kept: a rewind to step {last} brings them back."
            )
        if back.changes:
            lines += self._told(f"{len(back.changes)} files change on disk:")
            lines += [(("  ", ""), *file_line(change)) for change in back.changes[:MAX_FILES]]
            if len(back.changes) > MAX_FILES:
                lines.append(((f"  … {len(back.changes) - MAX_FILES} more", "dim"),))
        else:
            lines += self._told("The files of the last snapshot stay as they are.")
        lines += self._told("Edits that are in no snapshot are kept as one first.")
        if await self._confirmed(f"Set the run back to step {number}?", lines):
            self._said(await self._act.rewind(self._app.run_id, number))

    async def fork(self) -> None:
        number = self._number()
        lines = self._told(
            "A separate run in a separate folder; this run stays as it is. Type a new task, or nothing for this one:"
        )
        told = await self._show(Ask(f"Fork from step {number}", lines, kind="fork", may_be_empty=True))
        if told is not None:
            _, done = await self._act.fork(self._app.run_id, number, told[1] or None)
            self._said(done)

    async def pin(self) -> None:
        number = self._number()
        text = await self._act.pin(self._app.run_id, number)
        lines = [((line, "code"),) for line in wrapped(visible(text).rstrip("\n"), self._width)]
        run = visible_line(self._app.run_id)
        await self._show(
            Dialog(
                f"Step {number} as a scenario", lines, f"into a file: rawko pin {run}@{number} -o FILE.feature · Escape"
            )
        )

    # ------------------------------------------------------------ leaving

    async def leave(self, *, is_asking: bool = True) -> None:
        """Leave; a run that works in this process is cancelled first, after a question."""
        host = self._app.host
        if host is not None and not host.is_done:
            lines = [*self._told("The run works in this window. Leaving cancels it:"), *self._at_work()]
            if is_asking and not await self._confirmed("Cancel the run and leave?", lines):
                return
            host.cancel()
            self._app.say("cancelling", "warning")
            await host.wait()
        self._app.exit()


def _is_same(number: int | None, asked: Asked | None) -> bool:
    return asked is not None and asked.number == number


def _proposal_lines(proposal: Proposal, width: int) -> list[CellLine]:
    return [
        ((piece, diff_style(source) if proposal.is_diff else "code"),)
        for source in proposal.lines
        for piece in wrapped(exact_line(source.replace("\t", "    ")), width)
    ]


_WAYS: Final[Mapping[str, Callable[[Deciding], Awaitable[None]]]] = {
    "answer": Deciding.answer,
    "deny": Deciding.deny,
    "cancel": Deciding.cancel,
    "force": Deciding.force,
    "skip": Deciding.skip,
    "tell": Deciding.tell,
    "retry": Deciding.retry,
    "resume": Deciding.resume,
    "rewind": Deciding.rewind,
    "fork": Deciding.fork,
    "pin": Deciding.pin,
}

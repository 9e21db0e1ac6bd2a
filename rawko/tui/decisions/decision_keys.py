"""Maps each deciding key to the function that asks and acts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from rawko.app.views.machines import Asked
from rawko.config import ConfigError
from rawko.tui.decisions import at_step, questions, steering
from rawko.tui.decisions.asking import DecisionDialogs, View

_HANDLERS: Final[Mapping[str, Callable[[DecisionDialogs], Awaitable[None]]]] = {
    "answer": questions.answer,
    "deny": questions.deny,
    "cancel": steering.cancel,
    "force": steering.force,
    "skip": steering.skip,
    "tell": steering.tell,
    "retry": steering.retry,
    "resume": steering.resume,
    "rewind": at_step.rewind,
    "fork": at_step.fork,
    "pin": at_step.pin,
}


class DecisionKeys:
    """Carries out the decisions of one view.

    Args:
        act: Carries out a person's actions; a `rawko.app.inspection.acting.Actor`.
    """

    def __init__(self, app: View, act: Any) -> None:
        self._app = app
        self._dialogs = DecisionDialogs(app, act)

    async def decide(self, what: str) -> None:
        """Carry out the decision of a key; an error is shown as a message."""
        try:
            await _HANDLERS[what](self._dialogs)
        except ConfigError as error:
            self._app.say(str(error), "error")

    def check_open_dialog(self, asked: Asked | None) -> None:
        """Close the open dialog where its question is not the run's open question any more."""
        self._dialogs.check_open_dialog(asked)

    async def leave(self, *, is_asking: bool = True) -> None:
        """Leave the view; a run that works in this process is cancelled first, after a question."""
        host, dialogs = self._app.host, self._dialogs
        if host is not None and not host.is_done:
            lines = dialogs.lines_of("The run works in this window. Leaving cancels it:")
            lines += dialogs.at_work() if self._app.watched is not None else []
            if is_asking and not await dialogs.confirmed("Cancel the run and leave?", lines):
                return
            host.cancel()
            self._app.say("cancelling", "warning")
            await host.wait()
        self._app.exit()

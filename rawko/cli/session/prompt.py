"""The input line: several lines, history, completion and a toolbar, drawn by prompt_toolkit.

Enter submits the input; Esc-Enter and Ctrl-J begin a new line, and a paste of many lines is one input. Ctrl-C clears
the line; pressed twice on an empty line it leaves, like Ctrl-D.
"""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.styles import Style

from rawko.cli.people import is_late_answer
from rawko.cli.session.completing import InputCompleter, Words, is_completed
from rawko.cli.session.history import InputHistory
from rawko.cli.session.toolbar import LEAVING

PROMPT = "> "
MENU_ROWS = 6
MAX_LINE_BYTES = 65_536
SETTLING_S = 0.3
"""Seconds after drawing in which a line feed is an Enter typed before, which the terminal converted."""
_STYLE = Style.from_dict(
    {
        "prompt": "bold ansiblue",
        "bottom-toolbar": "noreverse ansibrightblack",
        "completion-menu.completion.current": "reverse",
    }
)


class InputLine:
    """Asks for inputs, one after the other.

    Args:
        history: The file of earlier inputs.
        mask: Masks keys in the history.
        below: Returns the toolbar for a number of columns.
        files: Returns the paths of the folder.
    """

    def __init__(
        self,
        history: Path,
        mask: Callable[[str], str],
        below: Callable[[int], str],
        commands: Words,
        arguments: Mapping[str, Callable[[], Iterable[str]]],
        files: Callable[[], Awaitable[Sequence[str]]],
    ) -> None:
        self._below = below
        self._is_leaving = False
        self._since = 0.0
        self._completer = InputCompleter(commands, arguments, files)
        self._session: PromptSession[str | None] = PromptSession(
            [("class:prompt", PROMPT)],
            multiline=True,
            history=InputHistory(history, mask),
            completer=self._completer,
            complete_while_typing=Condition(_completes),
            reserve_space_for_menu=MENU_ROWS,
            bottom_toolbar=self._toolbar,
            prompt_continuation=" " * len(PROMPT),
            key_bindings=self._keys(),
            style=_STYLE,
            enable_open_in_editor=False,
            enable_suspend=True,
        )
        self._session.default_buffer.on_text_changed += self._stay

    def read(self, begun: str = "") -> str | None:
        """The next input that is not empty; None to leave.

        Args:
            begun: Text that the person has typed already.
        """
        self._completer.forget_files()
        if ahead := typed_ahead(sys.stdin.fileno(), begun):
            self._session.history.append_string(ahead)
            return ahead
        while True:
            self._is_leaving = False
            self._since = time.monotonic()
            try:
                text = self._session.prompt(default=begun)
            except KeyboardInterrupt:  # a signal, not the key
                continue
            except EOFError:
                return None
            if text is None or text.strip():
                return text

    def _toolbar(self) -> StyleAndTextTuples:
        columns = get_app().output.get_size().columns
        text = LEAVING if self._is_leaving else self._below(columns)
        return [("", text[: max(columns - 1, 0)])]

    def _stay(self, _: object) -> None:
        self._is_leaving = False

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add("enter")
        def give(event: KeyPressEvent) -> None:
            buffer = event.current_buffer
            if _is_choosing(buffer):
                buffer.complete_state = None  # the chosen file is kept, and typing can continue
            elif buffer.text.strip():
                buffer.validate_and_handle()

        @keys.add("escape", "enter")
        @keys.add("c-j")
        def begin_line(event: KeyPressEvent) -> None:
            if time.monotonic() - self._since < SETTLING_S:
                give(event)
            else:
                event.current_buffer.newline(copy_margin=False)

        @keys.add("c-c")
        def clear_or_leave(event: KeyPressEvent) -> None:
            if event.current_buffer.text:
                event.current_buffer.reset()
            elif self._is_leaving:
                event.app.exit(result=None)
            else:
                self._is_leaving = True

        return keys


def typed_ahead(descriptor: int, begun: str = "") -> str:
    """A line typed and entered before the input line was drawn, which the terminal has echoed; "" where there is none.

    The terminal ends such a line with a line feed, which the input line would treat as Ctrl-J.

    Args:
        descriptor: Descriptor of the terminal.
        begun: Text typed before; an Enter alone submits it.
    """
    try:
        while select.select([descriptor], [], [], 0)[0]:
            line = os.read(descriptor, MAX_LINE_BYTES)
            text = (begun + line.decode(errors="replace")).strip()
            if not line or (text and not is_late_answer(text)):
                return text if line else ""
    except (OSError, ValueError):  # a closed terminal is reported by the input line
        pass
    return ""


def _is_choosing(buffer: Buffer) -> bool:
    """Whether one of several files is selected in the completion menu."""
    state = buffer.complete_state
    is_chosen = state is not None and state.current_completion is not None and len(state.completions) > 1
    return is_chosen and not buffer.text.startswith("/")


def _completes() -> bool:
    return is_completed(get_app().current_buffer.document.text_before_cursor)

"""The person at the terminal: questions are asked there, and answered line by line."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from rawko.cli.output import Painter, exact, exact_line, visible, visible_line
from rawko.machines.agent_loop.error_contexts import FILE_TEXTS, SHOWN_LINES
from rawko.runtime.ports import Answer, Question
from rawko.vocabulary.messages import ToolCall

_SCOPES = {"o": "once", "y": "once", "yes": "once", "t": "tool", "a": "always", "d": "deny", "n": "deny", "no": "deny"}
_HEADINGS = {
    "clarify": "{agent} asks:",
    "pause": "{agent} has paused:",
    "message": "",
    "approval": "{agent} wants to use the tool {tool}:",
}
_PROMPTS = {
    "clarify": "Your answer > ",
    "pause": "What should it do now? > ",
    "message": "{agent} > ",
    "approval": "Allow it? [o]nce, this [t]ool from now on, [a]lways everything, [d]eny > ",
}
_AGAIN = {
    "clarify": "Please answer in words; Ctrl-D leaves the question open.",
    "pause": "Please say how to go on; Ctrl-D leaves it paused.",
    "message": "Say what comes next; Ctrl-D ends the conversation.",
    "approval": "Please answer o(nce), t(ool), a(lways) or d(eny), or say why not in more than one word.",
}


class TerminalPeople:
    """Asks on the terminal, one question at a time. End of input means that nobody answers any more.

    Args:
        before: Called before a question is printed, so that live output can end its line.
        alone: Entered while a question is open: what is typed then is read by nobody else.
    """

    def __init__(
        self,
        before: Callable[[], None] = lambda: None,
        alone: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._before = before
        self._alone = alone
        self._one_at_a_time = asyncio.Lock()
        self._buffer = b""
        self._is_at_end = False

    async def ask(self, question: Question) -> Answer | None:
        async with self._one_at_a_time:
            if self._is_at_end:
                return None
            with self._alone():
                return await self._answer(question)

    async def _answer(self, question: Question) -> Answer | None:
        self._print(question)
        self._forget_what_was_typed()
        while True:
            prompt = _PROMPTS[question.kind].format(agent=visible(question.agent) or "you")
            print(prompt, end="", file=sys.stderr, flush=True)
            line = await self._whole_line() if question.kind == "message" else await self._line()
            if line is None:
                print(file=sys.stderr)
                return None
            answer = _understood(question, line)
            if answer is not None:
                return Answer(answer, who=user())
            print(_AGAIN[question.kind], file=sys.stderr)

    async def _whole_line(self) -> str | None:
        """As `_line`; a line that ends with a backslash goes on with the next one."""
        lines: list[str] = []
        while (line := await self._line()) is not None and line.endswith("\\"):
            lines.append(line[:-1])
            print("… ", end="", file=sys.stderr, flush=True)
        return None if line is None and not lines else "\n".join([*lines, line or ""])

    def _print(self, question: Question) -> None:
        self._before()
        if question.kind == "message":
            return
        paint = Painter(sys.stderr)
        tool = exact_line(question.call.name) if question.call is not None else ""
        heading = _HEADINGS[question.kind].format(agent=visible_line(question.agent) or "The agent", tool=tool)
        print(paint(heading, "bold", "yellow"), file=sys.stderr)
        for line in _lines_of(question):
            print(f"  {line}", file=sys.stderr)

    def _forget_what_was_typed(self) -> None:
        """What was typed before a question was seen is no answer to it."""
        self._buffer = b""
        try:
            termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
        except (termios.error, OSError):
            pass  # not a terminal

    async def _line(self) -> str | None:
        """The next line of standard input; cancelling leaves nothing behind, as a thread in input() would."""
        loop = asyncio.get_running_loop()
        descriptor = sys.stdin.fileno()
        while b"\n" not in self._buffer:
            ready = asyncio.Event()
            loop.add_reader(descriptor, ready.set)
            try:
                await ready.wait()
            finally:
                loop.remove_reader(descriptor)
            try:
                piece = os.read(descriptor, 65536)
            except OSError:  # the terminal has gone away
                piece = b""
            if not piece:
                self._is_at_end = True
                line, self._buffer = self._buffer, b""
                return line.decode(errors="replace") if line else None
            self._buffer += piece
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode(errors="replace")


def _lines_of(question: Question) -> Iterator[str]:
    """What is asked; of a call everything that it would do, so that a yes is a yes to something seen."""
    if question.call is None or question.kind != "approval":
        yield from visible(question.text).split("\n")
        return
    for name, value in question.call.input.items():
        yield from _shown(question.call, name, value)


def _shown(call: ToolCall, name: str, value: Any) -> Iterator[str]:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    lines = exact(text.removesuffix("\n")).split("\n")
    if len(lines) == 1:
        yield f"{exact_line(name)}: {lines[0]}"
        return
    limit = SHOWN_LINES if (call.name, name) in FILE_TEXTS else len(lines)
    yield f"{exact_line(name)}:"
    yield from (f"  | {line}" for line in lines[:limit])
    if len(lines) > limit:
        yield f"  … {len(lines) - limit} more lines"


def _understood(question: Question, line: str) -> str | None:
    """An answer in the words of the machine; None for one that has to be given again."""
    text = line.strip()
    if question.kind != "approval":
        return text or None
    word = text.lower()
    if word in _SCOPES.values():
        return word
    if word in _SCOPES:
        return _SCOPES[word]
    return text if len(text.split()) > 1 else None


def user() -> str:
    """Who sits at the terminal, for the journal."""
    return os.environ.get("USER") or os.environ.get("LOGNAME") or "user"

"""The person at the terminal: questions are asked there, and answered line by line."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable

from rawko.cli.output import Painter, visible
from rawko.runtime.ports import Answer, Question

_SCOPES = {"o": "once", "y": "once", "yes": "once", "t": "tool", "a": "always", "d": "deny", "n": "deny", "no": "deny"}
_HEADINGS = {
    "clarify": "{agent} asks:",
    "pause": "{agent} has paused:",
    "approval": "{agent} wants to use a tool:",
}


class TerminalPeople:
    """Asks on the terminal, one question at a time. End of input means that nobody answers any more.

    Args:
        before: Called before a question is printed, so that live output can end its line.
    """

    def __init__(self, before: Callable[[], None] = lambda: None) -> None:
        self._before = before
        self._one_at_a_time = asyncio.Lock()
        self._buffer = b""
        self._is_at_end = False

    async def ask(self, question: Question) -> Answer | None:
        async with self._one_at_a_time:
            if self._is_at_end:
                return None
            self._print(question)
            while True:
                line = await self._line()
                if line is None:
                    return None
                answer = _understood(question, line)
                if answer is not None:
                    return Answer(answer, who=_user())
                print("Please answer: o(nce), t(ool), a(lways), d(eny), or say why not in more words.", file=sys.stderr)

    def _print(self, question: Question) -> None:
        self._before()
        paint = Painter(sys.stderr)
        heading = _HEADINGS[question.kind].format(agent=question.agent or "The agent")
        print(paint(heading, "bold", "yellow"), file=sys.stderr)
        print(f"  {visible(question.text)}", file=sys.stderr)
        if question.kind == "approval":
            prompt = "Allow it? [o]nce, this [t]ool from now on, [a]lways everything, [d]eny > "
        else:
            prompt = "> "
        print(prompt, end="", file=sys.stderr, flush=True)

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
            piece = os.read(descriptor, 65536)
            if not piece:
                self._is_at_end = True
                line, self._buffer = self._buffer, b""
                return line.decode(errors="replace") if line else None
            self._buffer += piece
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode(errors="replace")


def _understood(question: Question, line: str) -> str | None:
    """An answer in the words of the machine; None for one that has to be given again."""
    text = line.strip()
    if question.kind != "approval":
        return text or None
    word = text.lower()
    if word in ("once", "tool", "always", "deny"):
        return word
    if word in _SCOPES:
        return _SCOPES[word]
    return text if len(text.split()) > 1 else None


def _user() -> str:
    return os.environ.get("USER") or os.environ.get("LOGNAME") or "user"

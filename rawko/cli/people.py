"""The person at the terminal: questions are asked there, and answered line by line."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from rawko.app.views.offered_rule import offered_rule
from rawko.cli.fitting import fitted
from rawko.cli.output import Painter, exact, exact_line, visible, visible_line
from rawko.cli.summary import diff_style
from rawko.machines.agent_loop.error_contexts import SHOWN_LINES
from rawko.runtime.ports import Answer, Question
from rawko.trust.errors import ConfigError
from rawko.trust.kept_rules import KeptRules
from rawko.vocabulary.messages import ADOPT

_SCOPES = {"o": "once", "y": "once", "yes": "once", "t": "tool", "a": "always", "d": "deny", "n": "deny", "no": "deny"}
_HEADINGS = {
    "clarify": "{agent} asks:",
    "pause": "{agent} has paused:",
    "message": "",
    "approval": "{agent} wants to use the tool {tool}:",
    "adopt": "A lane has won. Taking it over changes this folder:",
}
_PROMPTS = {
    "clarify": "Your answer > ",
    "pause": "What should it do now? > ",
    "message": "{agent} > ",
    "approval": "Allow it? [o]nce, this [t]ool from now on, [a]lways everything, [d]eny > ",
    "adopt": "Take it over? [y]es, [n]o > ",
    "rule": "Allow it? [o]nce, this [t]ool from now on, this [r]ule, [a]lways everything, [d]eny > ",
}
_VIEW_TOO = "Allow it? [v]iew the whole, "
_RULE = frozenset({"r", "rule"})
_VIEW = frozenset({"v", "view"})
_AGAIN = {
    "clarify": "Please answer in words; Ctrl-D leaves the question open.",
    "pause": "Please say how to go on; Ctrl-D leaves it paused.",
    "message": "Say what comes next; Ctrl-D ends the conversation.",
    "adopt": "Please answer y(es) or n(o).",
    "approval": "Please answer o(nce), t(ool), a(lways) or d(eny), or say why not in more than one word.",
}


class TerminalPeople:
    """Asks on the terminal, one question at a time. End of input means that nobody answers any more.

    Args:
        before: Called before a question is printed, so that live output can end its line.
        alone: Entered while a question is open: what is typed then is read by nobody else.
        workspace: With it, a call that changes a file is shown as a diff of that file.
        folder: Gives the folder in which an agent's next command runs; without it none is shown.
    """

    def __init__(
        self,
        before: Callable[[], None] = lambda: None,
        alone: Callable[[], AbstractContextManager[None]] = nullcontext,
        workspace: Path | None = None,
        folder: Callable[[str], Path] | None = None,
    ) -> None:
        self._workspace = workspace
        self._folder = folder
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
        is_cut, rule = self._print(question), self._offered(question)
        if rule:
            self._say(f"  r keeps the rule for this folder: {rule}")
        self._forget_what_was_typed()
        while True:
            prompt = _PROMPTS["rule" if rule else _kind(question)].format(agent=visible(question.agent) or "you")
            if is_cut:
                prompt = prompt.replace("Allow it? ", _VIEW_TOO)
            print(f"{fitted(prompt.rstrip(), sys.stderr)} ", end="", file=sys.stderr, flush=True)
            line = await self._whole_line() if question.kind == "message" else await self._line()
            if line is None:
                print(file=sys.stderr)
                return None
            if is_cut and line.strip().lower() in _VIEW:
                is_cut = self._print(question, is_whole=True)
                continue
            if rule and line.strip().lower() in _RULE:
                if self._keep(rule):
                    return Answer("once", who=user())
                rule = ""
                continue
            answer = _understood(question, line)
            if answer is not None:
                return Answer(answer, who=user())
            self._say(_AGAIN[_kind(question)])

    def _offered(self, question: Question) -> str:
        """The rule that the person may keep; "" where none is narrow and sure enough."""
        if question.call is None or question.kind != "approval" or self._workspace is None:
            return ""
        return offered_rule(question.call.to_json(), self._workspace).rule

    def _keep(self, rule: str) -> bool:
        """Keep a rule in the user's own configuration; False, and why, where that is impossible."""
        assert self._workspace is not None
        try:
            KeptRules(self._workspace).add(rule)
        except ConfigError as error:
            self._say(visible(str(error)))
            return False
        self._say(f"kept: {rule} (`rawko rules` lists and removes what you have kept)")
        return True

    async def _whole_line(self) -> str | None:
        """As `_line`; a line that ends with a backslash goes on with the next one."""
        lines: list[str] = []
        while (line := await self._line()) is not None and line.endswith("\\"):
            lines.append(line[:-1])
            print("… ", end="", file=sys.stderr, flush=True)
        return None if line is None and not lines else "\n".join([*lines, line or ""])

    def _print(self, question: Question, *, is_whole: bool = False) -> bool:
        """Print what is asked; whether a part was left out, which never happens with `is_whole`."""
        self._before()
        if question.kind == "message":
            return False
        paint = Painter(sys.stderr)
        tool = exact_line(question.call.name) if question.call is not None else ""
        heading = _HEADINGS[_kind(question)].format(agent=visible_line(question.agent) or "The agent", tool=tool)
        self._say(paint(heading, "bold", "yellow"))
        folder = None if self._folder is None else self._folder(question.agent)
        lines = list(_lines_of(question, self._workspace, folder))
        limit = len(lines) if is_whole or not _changes_a_file(question) else SHOWN_LINES + 1
        for line, *styles in lines[:limit]:
            self._say(paint(f"  {line}", *styles))
        if len(lines) > limit:
            print(f"    … {len(lines) - limit} more lines", file=sys.stderr)
        return len(lines) > limit

    def _say(self, line: str) -> None:
        print(fitted(line, sys.stderr), file=sys.stderr)

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


def _kind(question: Question) -> str:
    """The kind of a question; of one about the winner of a race "adopt", which is no tool."""
    is_adoption = question.kind == "approval" and question.call is not None and question.call.name == ADOPT
    return "adopt" if is_adoption else question.kind


def _changes_a_file(question: Question) -> bool:
    """Whether what is asked may be long: a command is always shown whole."""
    return question.kind == "approval" and question.call is not None and question.call.name in ("write", "edit")


def _lines_of(question: Question, workspace: Path | None, folder: Path | None) -> Iterator[tuple[str, ...]]:
    """What is asked, line by line with its styles; of a call everything that it would do.

    A person who says yes has seen, or could have seen, what that is a yes to.
    """
    if question.call is None or question.kind != "approval":
        yield from ((line,) for line in visible(question.text).split("\n"))
        return
    if _changes_a_file(question) and workspace is not None:
        from rawko.app.views.proposal import proposal_of  # not at the top: most runs ask nothing

        proposal = proposal_of(question.call.to_json(), workspace)
        if proposal.is_diff:
            yield (f"file_path: {exact_line(str(question.call.input['file_path']))}",)
            yield from ((f"  {exact_line(line)}", *diff_style(line)) for line in proposal.lines)
            return
    if question.call.name == "bash" and folder is not None:
        yield (f"folder: {exact_line(str(folder))}",)
    for name, value in question.call.input.items():
        yield from ((line,) for line in _shown(name, value))


def _shown(name: str, value: Any) -> Iterator[str]:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    lines = exact(text.removesuffix("\n")).split("\n")
    if len(lines) == 1:
        yield f"{exact_line(name)}: {lines[0]}"
        return
    yield f"{exact_line(name)}:"
    yield from (f"  | {line}" for line in lines)


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


def is_late_answer(line: str) -> bool:
    """Whether a line that is typed while no question is open is an answer to one: a second `o`, say."""
    word = line.strip().lower()
    return word in _SCOPES or word in _SCOPES.values() or word in _VIEW or word in _RULE


def user() -> str:
    """Who sits at the terminal, for the journal."""
    return os.environ.get("USER") or os.environ.get("LOGNAME") or "user"

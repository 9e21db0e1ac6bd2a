r"""Splits a model's arriving text into complete Markdown blocks, which are printed, and a rest that may still change.

"Two things:\n\n- one\n"        printed: "Two things:"; the rest is "- one\n", since the list may continue
"```py\nx = 1\n\ny = 2\n"       the rest: a code block ends with its fence, not with an empty line
"""

from __future__ import annotations

import re
from typing import ClassVar, Final

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown
from rich.padding import Padding
from rich.syntax import Syntax

_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")
_STYLE: Final = re.compile(r"\x1b\[[0-9;]*m")
_ITEM: Final = re.compile(r" {0,3}([-*+]|\d{1,9}[.)]) ")
MAX_BLOCK_CHARS: Final = 20_000
"""A longer block is printed in parts, so that redrawing the rest stays fast."""


class Blocks:
    """Splits a text into blocks while it arrives."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._partial = ""
        self._fence = ""
        self._chars = 0

    @property
    def rest(self) -> str:
        """The arrived part of the last, incomplete block."""
        return "\n".join([*self._lines, self._partial]) if self._lines else self._partial

    def feed(self, piece: str) -> list[str]:
        """Add a piece of text; returns the blocks that are complete now."""
        *lines, self._partial = (self._partial + piece).split("\n")
        found: list[str] = []
        for line in lines:
            found += self._take(line)
        if self._chars + len(self._partial) > MAX_BLOCK_CHARS:
            found += self.end()
        return found

    def end(self) -> list[str]:
        """End the text; returns the remaining blocks."""
        found = self._take(self._partial)
        text = "\n".join(self._lines)
        self._lines, self._partial, self._chars, self._fence = [], "", 0, ""
        return [*found, text] if text.strip() else found

    def _take(self, line: str) -> list[str]:
        fence, was_fenced = _FENCE.match(line), bool(self._fence)
        if was_fenced:
            if fence and fence[1].startswith(self._fence) and not line.strip().strip(self._fence[0]):
                self._fence = ""
        elif fence:
            self._fence = fence[1]
        done: list[str] = []
        if not was_fenced and self._ends_before(line):
            done, self._lines, self._chars = ["\n".join(self._lines)], [], 0
        if line.strip() or self._lines:
            self._lines.append(line)
            self._chars += len(line) + 1
        return [block for block in done if block.strip()]

    def _ends_before(self, line: str) -> bool:
        """Whether the lines so far are a complete block: an empty line ended them, and `line` does not continue their
        list."""
        if not self._lines or self._lines[-1].strip() or not line.strip():
            return False
        is_list = _ITEM.match(self._lines[0]) is not None
        return not (is_list and (_ITEM.match(line) or line.startswith((" ", "\t"))))


class _Heading(Heading):
    """A heading at the left, in bold; rich's centred headings are hard to find in a log."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        self.text.stylize("bold")
        yield self.text


class _CodeBlock(CodeBlock):
    """A code block without rich's empty lines above and below."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = str(self.text).rstrip()
        yield Syntax(code, self.lexer_name, theme=self.theme, word_wrap=True, padding=(0, 1))


class _Markdown(Markdown):
    elements: ClassVar = {
        **Markdown.elements,
        "heading_open": _Heading,
        "fence": _CodeBlock,
        "code_block": _CodeBlock,
    }


def rendered(text: str, columns: int, indent: int = 4) -> str:
    """Markdown rendered for a terminal, indented, without empty lines around it; `text` must have no control
    characters."""
    width = max(columns - 1, indent + 10)
    console = Console(width=width, force_terminal=True, color_system="standard", legacy_windows=False)
    with console.capture() as captured:
        console.print(Padding(_Markdown(text, hyperlinks=False, code_theme="ansi_dark"), (0, 0, 0, indent)))
    lines = [line.rstrip() for line in captured.get().split("\n")]
    told = [number for number, line in enumerate(lines) if _STYLE.sub("", line).strip()]
    return "\n".join(lines[told[0] : told[-1] + 1]) if told else ""

"""Completion of the input line: commands after `/`, agents after `/agent`, files of the folder after `@`."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Final

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from rawko.app.conversations.files import matching

MAX_SHOWN: Final = 50
_MENTION: Final = re.compile(r"(?:^|\s)@(\S*)$")
Words = Mapping[str, str]
"""Words, each with the description shown beside it."""


class InputCompleter(Completer):
    """Completes the input while a person types.

    Args:
        commands: Names of commands without the slash.
        arguments: Completions of a command's argument, by command.
        files: Returns the paths of the folder; called once per input.
    """

    def __init__(
        self,
        commands: Words,
        arguments: Mapping[str, Callable[[], Iterable[str]]],
        files: Callable[[], Awaitable[Sequence[str]]],
    ) -> None:
        self._commands = commands
        self._arguments = arguments
        self._files = files
        self._found: Sequence[str] | None = None

    def forget_files(self) -> None:
        """Discard the list of files, so that the next `@` reads the folder again."""
        self._found = None

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Completions that do not read the folder."""
        yield from _of_commands(document, self._commands, self._arguments)

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        """All completions for the text before the cursor."""
        for one in self.get_completions(document, complete_event):
            yield one
        mention = _MENTION.search(document.text_before_cursor)
        if mention is None:
            return
        if self._found is None:
            self._found = await self._files()
        for path in matching(self._found, mention[1], MAX_SHOWN):
            yield Completion(f"{path} ", start_position=-len(mention[1]), display=path)


def is_completed(text: str) -> bool:
    """Whether the text before the cursor has completions."""
    return (text.startswith("/") and "\n" not in text) or _MENTION.search(text) is not None


def _of_commands(
    document: Document, commands: Words, arguments: Mapping[str, Callable[[], Iterable[str]]]
) -> Iterable[Completion]:
    text = document.text_before_cursor
    if not text.startswith("/") or "\n" in document.text:
        return
    name, space, typed = text[1:].partition(" ")
    if not space:
        for word, told in commands.items():
            if word.startswith(name):
                yield Completion(word, start_position=-len(name), display=f"/{word}", display_meta=told)
    elif name in arguments:
        for word in arguments[name]():
            if word.startswith(typed):
                yield Completion(word, start_position=-len(typed))

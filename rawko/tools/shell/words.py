"""Words and simple commands of a command line, as data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Word:
    """One word after quote removal.

    Attributes:
        text: What is known of it; expansions leave nothing.
        is_literal: What is written is what the command gets.
        start: Its known beginning, up to the first expansion.
        is_single: It is one word for certain; an expansion outside of quotes may become several, or none.
        is_prefixed: Each word that it becomes begins with `start`: so do those of a pattern, not those of `$x`.
    """

    text: str
    is_literal: bool = True
    start: str = ""
    is_single: bool = True
    is_prefixed: bool = True

    @property
    def may_be_option(self) -> bool:
        """Whether it may reach the command as an option, or as words with one among them."""
        if self.is_literal:
            return self.text.startswith("-")
        return not self.is_prefixed or self.start[:1] in ("", "-")


HIDDEN_WORDS = Word("", is_literal=False, is_single=False, is_prefixed=False)
"""Any number of words that cannot be read."""


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """One command. `is_plain`: literal words only, no assignment before it, no file written by redirection."""

    words: tuple[Word, ...]
    is_plain: bool

    @property
    def text(self) -> str:
        """The words joined by single spaces."""
        return " ".join(word.text for word in self.words)


@dataclass(frozen=True, slots=True)
class Script:
    """All commands found, and why there may be more ("" where there cannot)."""

    commands: tuple[SimpleCommand, ...]
    doubt: str = ""


def base_name(word: str) -> str:
    """The last component of a program's path."""
    return word.rstrip("/").rpartition("/")[2]

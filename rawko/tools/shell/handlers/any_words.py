"""Programs whose arguments may contain a command at any position, or after certain words only."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from rawko.tools.shell.handlers.inner import (
    ASSIGNMENT,
    NOTHING,
    Inner,
    Words,
    any_suffix,
    doubt,
    is_special,
)
from rawko.tools.shell.programs import (
    ANY_SUFFIX,
    BEHIND_A_VERB,
    COPIERS,
    READS_CODE_WITHOUT,
)
from rawko.tools.shell.words import HIDDEN_WORDS


def shell_or_suffix(words: Words) -> Inner:
    inner = any_suffix(words)
    return replace(inner, doubt=inner.doubt or "without a command it runs a shell, which reads its input")


def behind_a_verb(verbs: re.Pattern[str]) -> Callable[[Words], Inner]:
    def read(words: Words) -> Inner:
        for at, word in enumerate(words):
            if not word.is_literal:
                if word.start == "" or not word.is_single:
                    return doubt("it gets a subcommand or options that cannot be read")
                continue
            if verbs.fullmatch(word.text):
                return any_suffix(words[at + 1 :])
        return NOTHING

    return read


def risky(name: str, pattern: re.Pattern[str]) -> Callable[[Words], Inner]:
    needed = READS_CODE_WITHOUT.get(name)

    def read(words: Words) -> Inner:
        risky = next((word for word in words if pattern.fullmatch(word.text)), None)
        if risky is not None:
            return doubt(f"{name} gets {risky.text!r}, which may name a command")
        if any(not word.is_literal and (word.may_be_option or is_special(word)) for word in words):
            return doubt(f"{name} gets arguments that cannot be read")
        if needed is not None and not any(needed.fullmatch(word.text) for word in words):
            return doubt(f"{name} reads commands from its input")
        if name == "sqlite3" and sum(not word.text.startswith("-") for word in words) < 2:
            return doubt("sqlite3 reads commands from its input")
        if name in ("tar", "bsdtar", "gtar") and words and re.fullmatch(r"[A-Za-z]*[IF][A-Za-z]*", words[0].text):
            return doubt(f"{name} gets {words[0].text!r}, which may name a command")
        if name in BEHIND_A_VERB:
            return behind_a_verb(BEHIND_A_VERB[name])(words)
        if name in COPIERS:
            return copier(words)
        if name in ANY_SUFFIX:
            return any_suffix(words)
        values = (match[2] for word in words if (match := ASSIGNMENT.match(word.text)) and name in ("make", "gmake"))
        return Inner(possible_scripts=tuple(values))

    return read


def copier(words: Words) -> Inner:
    """A copied or linked program runs as before, under another name."""
    copied = (word for word in words if "/" in (word.text if word.is_literal else word.start[:1]))
    return Inner(possible=tuple((word, HIDDEN_WORDS) for word in copied))

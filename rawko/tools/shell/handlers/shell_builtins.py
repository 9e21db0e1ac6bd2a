"""Builtins of bash that run text as commands, or that read names which may hold commands."""

from __future__ import annotations

import re
from collections.abc import Callable

from rawko.tools.shell.handlers.inner import (
    ASSIGNMENT,
    NOTHING,
    SPECIAL_FILE,
    Inner,
    Words,
    doubt,
)
from rawko.tools.shell.handlers.prefixes import behind_prefix
from rawko.tools.shell.programs import (
    PREFIXES,
)
from rawko.tools.shell.values import assignment_doubt, is_name, name_doubt
from rawko.tools.shell.words import Word


def eval_words(words: Words) -> Inner:
    """`eval`: its words together are a script."""
    if not all(word.is_literal for word in words):
        return doubt("eval gets words that cannot be read")
    return Inner(scripts=(" ".join(word.text for word in words if word.text != "--" or word is not words[0]),))


def source(words: Words) -> Inner:
    """`source` and `.`: a file of commands, which a rule cannot see into, or its input."""
    first = next((word for word in words if word.text != "--"), None)
    if first is None:
        return NOTHING
    if first.is_literal:
        return doubt("it reads commands from its input") if SPECIAL_FILE.fullmatch(first.text) else NOTHING
    if first.is_single and first.start[:1] not in ("", "-") and not SPECIAL_FILE.fullmatch(first.start + "/"):
        return NOTHING
    return doubt("it reads commands from a file whose name cannot be read")


def trap(words: Words) -> Inner:
    """`trap`: its first word is a script for later."""
    action = next((word for word in words if word.text != "--"), None)
    if action is None or action.text in ("-", "-l", "-p"):
        return NOTHING
    if not action.is_literal:
        return doubt("trap gets a command that cannot be read")
    return Inner(scripts=(action.text,))


def command(words: Words) -> Inner:
    """`command`: with -v it prints where a program is, else it runs it."""
    for word in words:
        if not word.is_literal or not word.text.startswith("-"):
            break
        if re.fullmatch(r"-p*[vV][pvV]*", word.text):
            return NOTHING
    return behind_prefix(PREFIXES["command"], words)


def risky_builtin(pattern: str, *, sets: bool = False) -> Callable[[Words], Inner]:
    expression = re.compile(pattern, re.DOTALL)

    def read(words: Words) -> Inner:
        if any(expression.fullmatch(word.text) if word.is_literal else word.may_be_option for word in words):
            return doubt("a builtin of the shell gets what may be a command")
        why = (name_doubt(word.text) for word in words if sets and word.is_literal and is_name(word.text))
        return doubt(next(filter(None, why), ""))

    return read


def names(words: Words) -> Inner:
    """Builtins that set variables execute subscripts in the names that they get."""
    for word in words:
        if (not word.is_literal and "=" not in word.start) or "[" in word.text.partition("=")[0]:
            return doubt("a builtin of the shell gets a name that cannot be read")
        match = ASSIGNMENT.match(word.text)
        if match and (why := assignment_doubt(match[1], Word(match[2], word.is_literal))):
            return doubt(why)
        if re.fullmatch(r"-[A-Za-z]*n[A-Za-z]*", word.text):
            return doubt("it sets a name that stands for another")
    return NOTHING


def read_names(words: Words) -> Inner:
    """`read`: sets the variables that it names."""
    at = 0
    while at < len(words):
        word = words[at]
        if word.is_literal and re.fullmatch(r"-[ers]*[pdntuNi]", word.text):
            at += 2
            continue
        is_option = word.is_literal and word.text.startswith("-")
        if not is_option and (why := name_doubt(word.text if word.is_literal else "")):
            return doubt(why)
        at += 1
    return NOTHING


def printf(words: Words) -> Inner:
    """`printf -v`: sets a variable."""
    if not words or (words[0].is_literal and not words[0].text.startswith("-v")):
        return NOTHING
    if words[0].is_literal:
        name = words[0].text[2:] or (words[1].text if len(words) > 1 and words[1].is_literal else "")
        return doubt(name_doubt(name))
    return doubt("printf gets arguments that cannot be read") if not words[0].is_single else NOTHING


def doubtful(why: str) -> Callable[[Words], Inner]:
    """Any use of the builtin is a doubt."""
    return lambda words: doubt(why) if words else NOTHING

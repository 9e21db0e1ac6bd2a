"""Programs before another command: `env A=1 rm x`, `timeout 5 rm x`, `su -c 'rm x'`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rawko.tools.shell.handlers.inner import (
    ASSIGNMENT,
    NOTHING,
    Inner,
    Words,
    doubt,
    suffixes,
)
from rawko.tools.shell.programs import (
    Prefix,
)
from rawko.tools.shell.values import assignment_doubt
from rawko.tools.shell.words import Word


def prefixed(prefix: Prefix) -> Callable[[Words], Inner]:
    return lambda words: behind_prefix(prefix, words)


def behind_prefix(prefix: Prefix, words: Words) -> Inner:
    at = 0
    while at < len(words):
        word = words[at]
        if not word.is_literal:
            if word.may_be_option and prefix.flags | prefix.valued | prefix.scripts:
                return Inner(possible=suffixes(words[at:]), doubt="it gets options that cannot be read")
            break
        text = word.text
        if text == "--":
            at += 1
            break
        if text == "-" and prefix.assigns:
            at += 1
            continue
        if not text.startswith("-") or text == "-":
            break
        taken = option_of(prefix, text)
        if taken is None:
            return Inner(possible=suffixes(words[at + 1 :]), doubt=f"its option {text!r} is not understood")
        kind, value = taken
        if kind == "script":
            following = words[at + 1 :] if value is None else words[at:]
            return script_of(value, following)
        at += 1 if kind == "flag" or value is not None else 2
    if prefix.assigns:
        while at < len(words) and (match := ASSIGNMENT.match(words[at].text)):
            why = assignment_doubt(match[1], Word(match[2], words[at].is_literal))
            if why:
                return Inner(certain=(words[at + 1 :],), doubt=why)
            at += 1
    operands = words[at : at + prefix.operands]
    if not all(word.is_literal or word.is_single for word in operands):
        return Inner(possible=suffixes(words[at:]), doubt="its arguments cannot be read")
    rest = words[at + prefix.operands :]
    if not rest and prefix.starts_shell:
        return doubt("without a command it runs a shell, which reads its input")
    if prefix.scripts and rest and rest[0].is_literal and rest[0].text.lstrip("-") in prefix.scripts and operands:
        return script_of(None, rest[1:])
    return Inner(certain=(rest,))


def option_of(prefix: Prefix, text: str) -> tuple[str, str | None] | None:
    """(flag, valued or script; the value if the same word contains it); None: unknown option."""
    name, has_value, value = text[2:].partition("=") if text.startswith("--") else (text[1:], "", "")
    for kind, options in (("flag", prefix.flags), ("valued", prefix.valued), ("script", prefix.scripts)):
        if name in options and (len(name) == 1) != text.startswith("--"):
            return kind, value if has_value else None
    if text.startswith("--"):
        return None
    for place, letter in enumerate(name):
        if letter in prefix.valued or letter in prefix.scripts:
            kind = "valued" if letter in prefix.valued else "script"
            return kind, name[place + 1 :] or None
        if letter not in prefix.flags:
            return None
    return "flag", None


def script_of(value: str | None, following: Sequence[Word]) -> Inner:
    """The inner commands of a shell script, given as an option's value or as the next word."""
    if value is None:
        if not following:
            return NOTHING
        if not following[0].is_literal:
            return doubt("it runs a script that cannot be read")
        value = following[0].text
    rest = tuple(following[1:])
    # The words after the script are its $0, $1, ...: unreadable words of the script may expand to them.
    return Inner(scripts=(value,), possible=suffixes(rest) if "$" in value else ())

"""The programs that run commands from their own small languages: find, xargs, sed and awk."""

from __future__ import annotations

import re
from typing import Final

from rawko.tools.shell.editing import awk_doubt, sed_doubt
from rawko.tools.shell.handlers.inner import (
    NOTHING,
    SPECIAL_FILE,
    Inner,
    Words,
    doubt,
    suffixes,
)
from rawko.tools.shell.handlers.prefixes import option_of
from rawko.tools.shell.programs import (
    Prefix,
)
from rawko.tools.shell.words import HIDDEN_WORDS, Word


def find(words: Words) -> Inner:
    certain: list[Words] = []
    at = 0
    has_hidden = False
    while at < len(words):
        word = words[at]
        if not word.is_literal and word.may_be_option and (at > 0 or not word.is_single):
            has_hidden = True
        if word.is_literal and re.fullmatch(r"-(?:exec|execdir|ok|okdir)", word.text):
            end = at + 1
            while end < len(words) and words[end].text not in (";", "+"):
                end += 1
            certain.append(tuple(_without(one, "{}") for one in words[at + 1 : end]))
            at = end
        at += 1
    if has_hidden:
        return Inner(tuple(certain), possible=suffixes(words), doubt="find gets arguments that cannot be read")
    return Inner(tuple(certain))


def _without(word: Word, mark: str) -> Word:
    """The word, as unreadable if it contains the mark that stands for a file name."""
    if not mark or mark not in word.text:
        return word
    known = word.text.partition(mark)[0]
    return Word(
        word.text.replace(mark, ""), False, known if word.is_literal else word.start, word.is_single, word.is_prefixed
    )


_XARGS: Final = Prefix(
    frozenset(("0", "r", "t", "x", "p", "o", "null", "no-run-if-empty", "verbose", "exit", "open-tty", "show-limits")),
    frozenset(
        (
            *("a", "d", "E", "I", "L", "n", "P", "s", "arg-file", "delimiter", "max-lines", "max-args", "max-procs"),
            *("max-chars", "process-slot-var"),
        )
    ),
)


def xargs(words: Words) -> Inner:
    at, mark = 0, ""
    while at < len(words):
        word = words[at]
        if not word.is_literal and word.may_be_option:
            return Inner(possible=suffixes(words[at:]), doubt="xargs gets arguments that cannot be read")
        text = word.text
        if not text.startswith("-") or not word.is_literal:
            break
        at += 1
        if text == "--":
            break
        if re.fullmatch(r"-i.*|--replace.*|-[el]\d*", text):
            mark = text[2:] if text.startswith("-i") and len(text) > 2 else text.partition("=")[2] or mark or "{}"
            continue
        taken = option_of(_XARGS, text)
        if taken is None:
            return Inner(possible=suffixes(words[at:]), doubt=f"xargs gets the option {text!r}")
        kind, value = taken
        if kind == "valued" and value is None:
            value = words[at].text if at < len(words) else ""
            at += 1
        if "I" in text.split("=")[0].lstrip("-")[:3] and kind == "valued" and not text.startswith("--"):
            mark = value or "{}"
    inner = words[at:]
    if not inner:
        return NOTHING
    if mark:
        return Inner(certain=(tuple(_without(word, mark) for word in inner),))
    return Inner(certain=((*inner, HIDDEN_WORDS),))


def sed(words: Words) -> Inner:
    scripts: list[str] = []
    operands: list[Word] = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if not word.is_literal:
            if word.may_be_option or (not operands and not scripts):
                return doubt("sed gets arguments that cannot be read")
            operands.append(word)
            continue
        text = word.text
        if text == "--":
            operands += words[at:]
            break
        if re.fullmatch(r"-[nErsuz]*e|--expression", text) or re.fullmatch(
            r"-[nErsuz]*e.+|--expression=.*", text, re.DOTALL
        ):
            value = re.sub(r"\A(?:-[nErsuz]*e|--expression=?)", "", text)
            if not value:
                if at >= len(words) or not words[at].is_literal:
                    return doubt("sed gets a program that cannot be read")
                value = words[at].text
                at += 1
            scripts.append(value)
        elif re.fullmatch(
            r"-[nErsuz]+|-[nErsuz]*i.*|--(?:quiet|silent|in-place(?:=.*)?|regexp-extended|separate|unbuffered|null-data"
            r"|version|help|posix|debug|follow-symlinks)",
            text,
            re.DOTALL,
        ):
            continue
        elif re.fullmatch(r"-[nErsuz]*f|--file", text):
            if at >= len(words) or not words[at].is_literal or SPECIAL_FILE.fullmatch(words[at].text):
                return doubt("sed reads a program that cannot be read")
            at += 1
            scripts.append("")
        elif text.startswith("-") and text != "-":
            return doubt(f"sed gets the option {text!r}")
        else:
            operands.append(word)
    if not scripts and operands:
        if not operands[0].is_literal:
            return doubt("sed gets a program that cannot be read")
        scripts.append(operands[0].text)
    return doubt(sed_doubt("\n".join(scripts)))


def awk(words: Words) -> Inner:
    at = 0
    while at < len(words):
        word = words[at]
        if not word.is_literal:
            return doubt("awk gets a program or options that cannot be read")
        text = word.text
        at += 1
        if text in ("-F", "-v"):
            if at < len(words) and not words[at].is_literal and not words[at].is_single:
                return doubt("awk gets arguments that cannot be read")
            at += 1
        elif re.fullmatch(r"-F.+|-v.+|--posix|--traditional|--re-interval|-W version|--version", text, re.DOTALL):
            continue
        elif text == "-f":
            if at < len(words) and words[at].is_literal and not SPECIAL_FILE.fullmatch(words[at].text):
                return NOTHING
            return doubt("awk reads a program that cannot be read")
        elif text.startswith("-") and text not in ("-", "--"):
            return doubt(f"awk gets the option {text!r}")
        elif text != "--":
            return doubt(awk_doubt(text))
    return NOTHING

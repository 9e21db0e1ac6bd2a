"""Finds what a simple command runs by its arguments: `env rm x`, `sh -c 'rm x'`, `find . -exec rm {} +`, `xargs rm`.

    timeout 5 rm x     certainly `rm x`
    docker run a rm x  perhaps `rm x`
    python -c '...'    a doubt: code that is not read

The tables are allow-lists: an option that is not in them is a doubt.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from rawko.tools.shell.editing import awk_doubt, sed_doubt
from rawko.tools.shell.gitcommand import git_doubt
from rawko.tools.shell.programs import (
    ALWAYS,
    ANY_SUFFIX,
    AWKS,
    BEHIND_A_VERB,
    COPIERS,
    INTERPRETERS,
    PREFIXES,
    PYTHON_MODULES_OF_CODE,
    READS_CODE_WITHOUT,
    RISKY_WORDS,
    SEDS,
    SHELL_STARTERS,
    SHELLS,
    Interpreter,
    Prefix,
)
from rawko.tools.shell.reader import read_script
from rawko.tools.shell.values import assignment_doubt, is_name, name_doubt
from rawko.tools.shell.words import HIDDEN_WORDS, SimpleCommand, Word, base_name

_MAX_COMMANDS: Final = 400
_SPECIAL_FILE: Final = re.compile(r"-|/+(?:dev|proc)(?:/.*)?|.*/\.\.(?:/.*)?", re.DOTALL)
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)

Words = tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class Runs:
    """Everything that a command runs, itself included.

    Attributes:
        certain: Commands that run whenever the command runs.
        possible: Words that may be commands.
        doubt: Why it may run others; "" if it does not.
    """

    certain: tuple[SimpleCommand, ...]
    possible: tuple[SimpleCommand, ...] = ()
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class _Inner:
    """One level: the commands that the arguments of one command name."""

    certain: tuple[Words, ...] = ()
    possible: tuple[Words, ...] = ()
    scripts: tuple[str, ...] = ()
    possible_scripts: tuple[str, ...] = ()
    doubt: str = ""


_NOTHING: Final = _Inner()


def _doubt(why: str) -> _Inner:
    return _Inner(doubt=why)


@lru_cache(maxsize=512)
def run_by(command: SimpleCommand) -> Runs:
    """What a command runs, at every level of arguments."""
    gathering = _Gathering()
    gathering.add(command.words, is_certain=True)
    return Runs(tuple(gathering.certain), tuple(gathering.possible), gathering.doubt)


class _Gathering:
    """A walk over commands that name further commands; each is visited once."""

    def __init__(self) -> None:
        self.certain: list[SimpleCommand] = []
        self.possible: list[SimpleCommand] = []
        self.doubt = ""
        self._seen: set[tuple[Words, bool]] = set()

    def add(self, words: Words, *, is_certain: bool) -> None:
        todo = [(words, is_certain)]
        while todo:
            one, certain = todo.pop()
            if not one or (one, certain) in self._seen:
                continue
            if len(self._seen) >= _MAX_COMMANDS:
                self.doubt = self.doubt or "it holds too many commands in one another"
                return
            self._seen.add((one, certain))
            (self.certain if certain else self.possible).append(SimpleCommand(one, is_plain=False))
            inner = _inner(one)
            self.doubt = self.doubt or inner.doubt
            todo += [(words, certain) for words in inner.certain]
            todo += [(words, False) for words in inner.possible]
            todo += self._read(inner.scripts, certain)
            todo += self._read(inner.possible_scripts, False)

    def _read(self, scripts: Iterable[str], certain: bool) -> Iterator[tuple[Words, bool]]:
        for text in scripts:
            script = read_script(text)
            self.doubt = self.doubt or script.doubt
            yield from ((simple.words, certain) for simple in script.commands)


def _inner(words: Words) -> _Inner:
    first, rest = words[0], words[1:]
    if not first.is_literal:
        return _NOTHING
    if re.match(r"/+(?:proc|dev)/", first.text):
        return _doubt("it runs a file of the kernel's, which may be any program")
    name = base_name(first.text)
    handler = _HANDLERS.get(name) or _HANDLERS.get(re.sub(r"[-\d.]+$", "", name))
    if handler is not None:
        return handler(rest)
    if re.match(r"ld\.so|ld-", name):
        return _any_suffix(rest)
    return _NOTHING


# ---------------------------------------------------------------- prefixes


def _is_special(word: Word) -> bool:
    """A special file: standard input, a descriptor, a process substitution."""
    known = word.text if word.is_literal else word.start + "/"
    return _SPECIAL_FILE.fullmatch(known) is not None


def _prefixed(prefix: Prefix) -> Callable[[Words], _Inner]:
    return lambda words: _behind_prefix(prefix, words)


def _behind_prefix(prefix: Prefix, words: Words) -> _Inner:
    at = 0
    while at < len(words):
        word = words[at]
        if not word.is_literal:
            if word.may_be_option and prefix.flags | prefix.valued | prefix.scripts:
                return _Inner(possible=_suffixes(words[at:]), doubt="it gets options that cannot be read")
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
        taken = _option(prefix, text)
        if taken is None:
            return _Inner(possible=_suffixes(words[at + 1 :]), doubt=f"its option {text!r} is not understood")
        kind, value = taken
        if kind == "script":
            following = words[at + 1 :] if value is None else words[at:]
            return _script_of(value, following)
        at += 1 if kind == "flag" or value is not None else 2
    if prefix.assigns:
        while at < len(words) and (match := _ASSIGNMENT.match(words[at].text)):
            why = assignment_doubt(match[1], Word(match[2], words[at].is_literal))
            if why:
                return _Inner(certain=(words[at + 1 :],), doubt=why)
            at += 1
    operands = words[at : at + prefix.operands]
    if not all(word.is_literal or word.is_single for word in operands):
        return _Inner(possible=_suffixes(words[at:]), doubt="its arguments cannot be read")
    rest = words[at + prefix.operands :]
    if not rest and prefix.starts_shell:
        return _doubt("without a command it runs a shell, which reads its input")
    if prefix.scripts and rest and rest[0].is_literal and rest[0].text.lstrip("-") in prefix.scripts and operands:
        return _script_of(None, rest[1:])
    return _Inner(certain=(rest,))


def _option(prefix: Prefix, text: str) -> tuple[str, str | None] | None:
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


def _script_of(value: str | None, following: Sequence[Word]) -> _Inner:
    """The inner commands of a shell script, given as an option's value or as the next word."""
    if value is None:
        if not following:
            return _NOTHING
        if not following[0].is_literal:
            return _doubt("it runs a script that cannot be read")
        value = following[0].text
    rest = tuple(following[1:])
    # The words after the script are its $0, $1, ...: unreadable words of the script may expand to them.
    return _Inner(scripts=(value,), possible=_suffixes(rest) if "$" in value else ())


# ---------------------------------------------------------------- shells and interpreters


def _shell(words: Words) -> _Inner:
    for at, word in enumerate(words):
        if not word.is_literal:
            if word.may_be_option or _SPECIAL_FILE.fullmatch(word.start + "/"):
                return _doubt("a shell gets arguments that cannot be read")
            return _NOTHING
        text = word.text
        if text in ("--norc", "--noprofile", "--posix", "--version", "--help", "--login"):
            continue
        if re.fullmatch(r"-[abefhklmnptuvxBCEHP]*c[abefhklmnptuvxBCEHP]*", text):
            return _script_of(None, words[at + 1 :])
        if re.fullmatch(r"[-+][abefhklmnptuvxBCEHP]+", text):
            continue
        if re.fullmatch(r"[-+][abefhklmnptuvxBCEHP]*o[abefhklmnptuvxBCEHP]*", text):
            return _shell(words[at + 2 :]) if at + 2 <= len(words) else _NOTHING
        if text.startswith(("-", "+")):
            return _doubt(f"a shell gets the option {text!r}")
        return _doubt("a shell reads its commands from its input") if _SPECIAL_FILE.fullmatch(text) else _NOTHING
    if any(word.text in ("--version", "--help") for word in words):
        return _NOTHING
    return _doubt("a shell reads its commands from its input")


def _interpreter(interpreter: Interpreter, name: str) -> Callable[[Words], _Inner]:
    def read(words: Words) -> _Inner:
        at = 0
        is_asked = False
        while at < len(words):
            word = words[at]
            if not word.is_literal:
                if word.may_be_option or _SPECIAL_FILE.fullmatch(word.start + "/"):
                    return _doubt(f"{name} gets arguments that cannot be read")
                return _NOTHING
            text = word.text
            if name in ("python", "pypy") and re.fullmatch(r"-[bBdEIOPqRsSuvx]*m.*", text):
                return _python_module(text.partition("m")[2], words[at + 1 :])
            if interpreter.code.fullmatch(text):
                return _doubt(f"{name} gets code in {text!r}")
            if text.startswith("-") and text != "-":
                if not interpreter.flags.fullmatch(text):
                    return _doubt(f"{name} gets the option {text!r}")
                is_asked = is_asked or text in ("-V", "-VV", "-v", "-h", "--version", "--help", "-version", "--test")
                at += 2 if text in interpreter.valued else 1
                continue
            return _doubt(f"{name} reads code from its input") if _SPECIAL_FILE.fullmatch(text) else _NOTHING
        if is_asked or not interpreter.reads_input:
            return _NOTHING
        return _doubt(f"{name} reads code from its input")

    return read


def _python_module(attached: str, following: Words) -> _Inner:
    module = Word(attached) if attached else (following[0] if following else HIDDEN_WORDS)
    if not module.is_literal or module.text.partition(".")[0] in PYTHON_MODULES_OF_CODE:
        return _doubt("python runs a module that takes code")
    return _NOTHING


# ---------------------------------------------------------------- any words


def _suffixes(words: Words) -> tuple[Words, ...]:
    return tuple(words[at:] for at in range(min(len(words), _MAX_COMMANDS)))


def _shell_or_suffix(words: Words) -> _Inner:
    inner = _any_suffix(words)
    return replace(inner, doubt=inner.doubt or "without a command it runs a shell, which reads its input")


def _any_suffix(words: Words) -> _Inner:
    """Each word may begin a command; a word with white space or special characters of a shell may be a command line."""
    if len(words) > _MAX_COMMANDS:
        return _doubt("it has too many arguments")
    scripts = tuple(word.text for word in words if word.is_literal and re.search(r"[\s;&|<>()$`'\"\\]", word.text))
    hides = any(not word.is_literal for word in words)
    why = "it runs what its arguments name, and some cannot be read" if hides else ""
    return _Inner(possible=_suffixes(words), possible_scripts=scripts, doubt=why)


def _behind_a_verb(verbs: re.Pattern[str]) -> Callable[[Words], _Inner]:
    def read(words: Words) -> _Inner:
        for at, word in enumerate(words):
            if not word.is_literal:
                if word.start == "" or not word.is_single:
                    return _doubt("it gets a subcommand or options that cannot be read")
                continue
            if verbs.fullmatch(word.text):
                return _any_suffix(words[at + 1 :])
        return _NOTHING

    return read


def _input_reader(words: Words) -> _Inner:
    if words and all(word.is_literal and word.text in ("--version", "--help") for word in words):
        return _NOTHING
    return _doubt("it takes commands of its own, with one to run others")


# ---------------------------------------------------------------- programs with risky words


def _risky(name: str, pattern: re.Pattern[str]) -> Callable[[Words], _Inner]:
    needed = READS_CODE_WITHOUT.get(name)

    def read(words: Words) -> _Inner:
        risky = next((word for word in words if pattern.fullmatch(word.text)), None)
        if risky is not None:
            return _doubt(f"{name} gets {risky.text!r}, which may name a command")
        if any(not word.is_literal and (word.may_be_option or _is_special(word)) for word in words):
            return _doubt(f"{name} gets arguments that cannot be read")
        if needed is not None and not any(needed.fullmatch(word.text) for word in words):
            return _doubt(f"{name} reads commands from its input")
        if name == "sqlite3" and sum(not word.text.startswith("-") for word in words) < 2:
            return _doubt("sqlite3 reads commands from its input")
        if name in ("tar", "bsdtar", "gtar") and words and re.fullmatch(r"[A-Za-z]*[IF][A-Za-z]*", words[0].text):
            return _doubt(f"{name} gets {words[0].text!r}, which may name a command")
        if name in BEHIND_A_VERB:
            return _behind_a_verb(BEHIND_A_VERB[name])(words)
        if name in COPIERS:
            return _copier(words)
        if name in ANY_SUFFIX:
            return _any_suffix(words)
        values = (match[2] for word in words if (match := _ASSIGNMENT.match(word.text)) and name in ("make", "gmake"))
        return _Inner(possible_scripts=tuple(values))

    return read


def _copier(words: Words) -> _Inner:
    """A copied or linked program runs as before, under another name."""
    copied = (word for word in words if "/" in (word.text if word.is_literal else word.start[:1]))
    return _Inner(possible=tuple((word, HIDDEN_WORDS) for word in copied))


# ---------------------------------------------------------------- find, xargs, sed, awk, git


def _find(words: Words) -> _Inner:
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
        return _Inner(tuple(certain), possible=_suffixes(words), doubt="find gets arguments that cannot be read")
    return _Inner(tuple(certain))


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


def _xargs(words: Words) -> _Inner:
    at, mark = 0, ""
    while at < len(words):
        word = words[at]
        if not word.is_literal and word.may_be_option:
            return _Inner(possible=_suffixes(words[at:]), doubt="xargs gets arguments that cannot be read")
        text = word.text
        if not text.startswith("-") or not word.is_literal:
            break
        at += 1
        if text == "--":
            break
        if re.fullmatch(r"-i.*|--replace.*|-[el]\d*", text):
            mark = text[2:] if text.startswith("-i") and len(text) > 2 else text.partition("=")[2] or mark or "{}"
            continue
        taken = _option(_XARGS, text)
        if taken is None:
            return _Inner(possible=_suffixes(words[at:]), doubt=f"xargs gets the option {text!r}")
        kind, value = taken
        if kind == "valued" and value is None:
            value = words[at].text if at < len(words) else ""
            at += 1
        if "I" in text.split("=")[0].lstrip("-")[:3] and kind == "valued" and not text.startswith("--"):
            mark = value or "{}"
    inner = words[at:]
    if not inner:
        return _NOTHING
    if mark:
        return _Inner(certain=(tuple(_without(word, mark) for word in inner),))
    return _Inner(certain=((*inner, HIDDEN_WORDS),))


def _sed(words: Words) -> _Inner:
    scripts: list[str] = []
    operands: list[Word] = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if not word.is_literal:
            if word.may_be_option or (not operands and not scripts):
                return _doubt("sed gets arguments that cannot be read")
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
                    return _doubt("sed gets a program that cannot be read")
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
            if at >= len(words) or not words[at].is_literal or _SPECIAL_FILE.fullmatch(words[at].text):
                return _doubt("sed reads a program that cannot be read")
            at += 1
            scripts.append("")
        elif text.startswith("-") and text != "-":
            return _doubt(f"sed gets the option {text!r}")
        else:
            operands.append(word)
    if not scripts and operands:
        if not operands[0].is_literal:
            return _doubt("sed gets a program that cannot be read")
        scripts.append(operands[0].text)
    return _doubt(sed_doubt("\n".join(scripts)))


def _awk(words: Words) -> _Inner:
    at = 0
    while at < len(words):
        word = words[at]
        if not word.is_literal:
            return _doubt("awk gets a program or options that cannot be read")
        text = word.text
        at += 1
        if text in ("-F", "-v"):
            if at < len(words) and not words[at].is_literal and not words[at].is_single:
                return _doubt("awk gets arguments that cannot be read")
            at += 1
        elif re.fullmatch(r"-F.+|-v.+|--posix|--traditional|--re-interval|-W version|--version", text, re.DOTALL):
            continue
        elif text == "-f":
            if at < len(words) and words[at].is_literal and not _SPECIAL_FILE.fullmatch(words[at].text):
                return _NOTHING
            return _doubt("awk reads a program that cannot be read")
        elif text.startswith("-") and text not in ("-", "--"):
            return _doubt(f"awk gets the option {text!r}")
        elif text != "--":
            return _doubt(awk_doubt(text))
    return _NOTHING


# ---------------------------------------------------------------- builtins


def _eval(words: Words) -> _Inner:
    if not all(word.is_literal for word in words):
        return _doubt("eval gets words that cannot be read")
    return _Inner(scripts=(" ".join(word.text for word in words if word.text != "--" or word is not words[0]),))


def _source(words: Words) -> _Inner:
    first = next((word for word in words if word.text != "--"), None)
    if first is None:
        return _NOTHING
    if first.is_literal:
        return _doubt("it reads commands from its input") if _SPECIAL_FILE.fullmatch(first.text) else _NOTHING
    if first.is_single and first.start[:1] not in ("", "-") and not _SPECIAL_FILE.fullmatch(first.start + "/"):
        return _NOTHING
    return _doubt("it reads commands from a file whose name cannot be read")


def _trap(words: Words) -> _Inner:
    action = next((word for word in words if word.text != "--"), None)
    if action is None or action.text in ("-", "-l", "-p"):
        return _NOTHING
    if not action.is_literal:
        return _doubt("trap gets a command that cannot be read")
    return _Inner(scripts=(action.text,))


def _command(words: Words) -> _Inner:
    for word in words:
        if not word.is_literal or not word.text.startswith("-"):
            break
        if re.fullmatch(r"-p*[vV][pvV]*", word.text):
            return _NOTHING
    return _behind_prefix(PREFIXES["command"], words)


def _risky_builtin(pattern: str, *, sets: bool = False) -> Callable[[Words], _Inner]:
    expression = re.compile(pattern, re.DOTALL)

    def read(words: Words) -> _Inner:
        if any(expression.fullmatch(word.text) if word.is_literal else word.may_be_option for word in words):
            return _doubt("a builtin of the shell gets what may be a command")
        why = (name_doubt(word.text) for word in words if sets and word.is_literal and is_name(word.text))
        return _doubt(next(filter(None, why), ""))

    return read


def _names(words: Words) -> _Inner:
    """Builtins that set variables execute subscripts in the names that they get."""
    for word in words:
        if (not word.is_literal and "=" not in word.start) or "[" in word.text.partition("=")[0]:
            return _doubt("a builtin of the shell gets a name that cannot be read")
        match = _ASSIGNMENT.match(word.text)
        if match and (why := assignment_doubt(match[1], Word(match[2], word.is_literal))):
            return _doubt(why)
        if re.fullmatch(r"-[A-Za-z]*n[A-Za-z]*", word.text):
            return _doubt("it sets a name that stands for another")
    return _NOTHING


def _read(words: Words) -> _Inner:
    at = 0
    while at < len(words):
        word = words[at]
        if word.is_literal and re.fullmatch(r"-[ers]*[pdntuNi]", word.text):
            at += 2
            continue
        is_option = word.is_literal and word.text.startswith("-")
        if not is_option and (why := name_doubt(word.text if word.is_literal else "")):
            return _doubt(why)
        at += 1
    return _NOTHING


def _printf(words: Words) -> _Inner:
    if not words or (words[0].is_literal and not words[0].text.startswith("-v")):
        return _NOTHING
    if words[0].is_literal:
        name = words[0].text[2:] or (words[1].text if len(words) > 1 and words[1].is_literal else "")
        return _doubt(name_doubt(name))
    return _doubt("printf gets arguments that cannot be read") if not words[0].is_single else _NOTHING


def _doubtful(why: str) -> Callable[[Words], _Inner]:
    return lambda words: _doubt(why) if words else _NOTHING


_HANDLERS: Final[Mapping[str, Callable[[Words], _Inner]]] = {
    **dict.fromkeys(COPIERS, _copier),
    **{name: _behind_a_verb(verbs) for name, verbs in BEHIND_A_VERB.items()},
    **dict.fromkeys(ANY_SUFFIX, _any_suffix),
    **{name: _risky(name, pattern) for name, pattern in RISKY_WORDS.items()},
    **dict.fromkeys(SHELL_STARTERS, _shell_or_suffix),
    **dict.fromkeys(ALWAYS, _input_reader),
    **{name: _interpreter(interpreter, name) for name, interpreter in INTERPRETERS.items()},
    **dict.fromkeys(SHELLS, _shell),
    **{name: _prefixed(prefix) for name, prefix in PREFIXES.items()},
    **dict.fromkeys(AWKS, _awk),
    **dict.fromkeys(SEDS, _sed),
    "find": _find,
    "xargs": _xargs,
    "git": lambda words: _doubt(git_doubt(words)),
    "eval": _eval,
    "source": _source,
    ".": _source,
    "trap": _trap,
    "command": _command,
    "alias": _doubtful("it defines an alias"),
    "bind": _doubtful("it binds keys to commands"),
    "compgen": _doubtful("it completes by commands"),
    "complete": _doubtful("it completes by commands"),
    "compopt": _doubtful("it completes by commands"),
    "fc": _input_reader,
    "history": _risky_builtin(r"-.*"),
    "hash": _risky_builtin(r"-.*p.*"),
    "enable": _risky_builtin(r"-.*"),
    "jobs": _risky_builtin(r"-x.*"),
    "shopt": _risky_builtin(r"expand_aliases|assoc_expand_once|compat.*|progcomp.*"),
    "set": _risky_builtin(r"history|-[^-]*[kh].*"),
    "mapfile": _risky_builtin(r"-[^-]*C.*|.*\[.*", sets=True),
    "readarray": _risky_builtin(r"-[^-]*C.*|.*\[.*", sets=True),
    "wait": _risky_builtin(r"-[^-]*p.*"),
    "getopts": _risky_builtin(r".*\[.*", sets=True),
    "unset": _risky_builtin(r".*\[.*"),
    "read": _read,
    "printf": _printf,
    **dict.fromkeys(("declare", "typeset", "local", "export", "readonly"), _names),
}

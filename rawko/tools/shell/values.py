"""Assignments and arithmetic: decides which values bash or a program would execute as code.

PS4='$(rm x)'; set -x        the value of this name is code
x='a[$(rm x)]'; echo $((x))  bash executes subscripts in the values of names that it computes with
n=$(wc -l < f); echo $((n))  certainly a number
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from rawko.cutting import cut
from rawko.tools.shell.words import Word

_CODE: Final = re.compile(
    r"PS[0-4]|PROMPT_COMMAND|BASH_ENV|ENV|SHELLOPTS|BASHOPTS|BASH_(?:FUNC|ALIASES|CMDS|LOADABLES|EXECUTION|COMPAT).*"
    r"|LD_.*|DYLD_.*|GCONV_PATH|GIT_CONFIG.*|GIT_EXEC_PATH|GIT_TEMPLATE_DIR|GIT_ALTERNATE_OBJECT_DIRECTORIES"
    r"|LESSOPEN|LESSCLOSE|LESSKEY.*|MAKEFLAGS|GNUMAKEFLAGS|MFLAGS|TAR_OPTIONS|PERL5\w*|PERLLIB|PERL_\w+"
    r"|PYTHON(?:STARTUP|INSPECT|BREAKPOINT|WARNINGS|HOME|EXECUTABLE)|RUBYOPT|RUBYLIB|NODE_OPTIONS|NODE_REPL.*"
    r"|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|PHP_INI_SCAN_DIR|LUA_INIT.*|VIMINIT|EXINIT|GVIMINIT|MYVIMRC"
    r"|XARGS.*|GREP_OPTIONS|RSYNC_(?:RSH|CONNECT_PROG)|npm_config_\w+|NPM_CONFIG_\w+|CARGO_\w+|RUSTC\w*|GOFLAGS"
    r"|PYTEST_ADDOPTS|AWKPATH|AWKLIBPATH|TEXINPUTS|GCC_EXEC_PREFIX|COMPILER_PATH|SSLKEYLOGFILE|ZDOTDIR|INPUTRC"
)
"""Names whose value a program interprets as code, as options, or as a path to load code from."""

_COMMAND: Final = re.compile(
    r"EDITOR|VISUAL|FCEDIT|PAGER|MANPAGER|SYSTEMD_PAGER|BROWSER|SHELL|\w+_SHELL|SUDO_ASKPASS|SSH_ASKPASS|CVS_RSH|RSH"
    r"|SUDO_EDITOR|SVN_SSH|SVN_EDITOR|HGEDITOR|KUBE_EDITOR|CC|CXX|CPP|LD|AR|AS|FC|NM|STRIP|RANLIB|LEX|YACC|INSTALL"
    r"|GIT_(?:PAGER|EDITOR|SEQUENCE_EDITOR|SSH|SSH_COMMAND|ASKPASS|EXTERNAL_DIFF|PROXY_COMMAND|TRACE\w*)|AWK|SED|TAR"
)
"""Names whose value is a command that a program runs."""

_INTEGER: Final = re.compile(
    r"SECONDS|S?RANDOM|OPTIND|OPTERR|LINENO|HISTCMD|BASH_(?:SUBSHELL|MONOSECONDS)|BASHPID|EPOCH\w+|[EP]?P?UID|GROUPS|TMOUT"
    r"|COLUMNS|LINES|HIST\w+SIZE|HISTSIZE|FUNCNEST|PPID"
)
"""Names whose value bash computes at the assignment."""

_HARMLESS: Final = frozenset(
    (
        *("", ":", "true", "false", "cat", "echo", "less", "more", "vi", "vim", "nano", "emacs", "code --wait"),
        *("sh", "bash", "/bin/sh", "/bin/bash", "gcc", "g++", "clang", "clang++", "cc", "c++", "gcc-12", "ccache gcc"),
    )
)

_SAFE_TEXT: Final = re.compile(r"[^\[$`]*")
_NUMBER: Final = re.compile(
    r"""["']?(?:
        \$\(\(.*\)\) | \$[#?$!] | \$\{\#\w+\} | \d+
      | \$\((?:[^()`]*\|\s*)?(?:wc\ -[lcwm]|nproc)\s*\)
      | \$\(\s*wc\ -[lcwm]\s*<[^()|;&`<>]*\)
      | \$\(\s*date\ \+%[sYmdHMSjuN]\s*\)
      | \$\(\s*seq[\d\s-]*\)
      | \{\w+\.\.\w+(?:\.\.\w+)?\}
    )["']?""",
    re.VERBOSE | re.DOTALL,
)
_ARITHMETIC: Final = re.compile(r"(?:[\w\s+\-*/%()<>=!&|?:,~^;]|\$\{#?\w+\}|\$[\w#?])*", re.ASCII)
_IDENTIFIER: Final = re.compile(r"(?<![\w])[A-Za-z_]|\$[\d{A-Za-z_]", re.ASCII)
_NAME: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_DECLARING: Final = frozenset(("declare", "typeset", "local", "export", "readonly"))
_READING: Final = frozenset(("read", "mapfile", "readarray", "getopts", "set"))


def is_name(text: str) -> bool:
    """Whether the text is a variable's name without a subscript, which bash would execute."""
    return _NAME.fullmatch(text) is not None


def assignment_doubt(name: str, value: Word) -> str:
    """Why setting a variable may run a command; "" if it cannot."""
    if _CODE.fullmatch(name):
        return f"it sets {name}, whose value can be carried out"
    if _COMMAND.fullmatch(name) and not (value.is_literal and value.text in _HARMLESS):
        return f"it sets {name}, whose value is a command"
    if _INTEGER.fullmatch(name) and not (value.is_literal and value.text.isdigit()):
        return f"it sets {name}, whose value is computed"
    return ""


def name_doubt(name: str) -> str:
    """Why giving a variable an unknown value may run a command; "" if it cannot."""
    return assignment_doubt(name, Word("", is_literal=False)) if is_name(name) else "it sets a name that cannot be read"


def is_known_value(raw: str, value: Word) -> bool:
    """Whether arithmetic with the value can run nothing: it is a number, or plain text without a subscript.

    Args:
        raw: The value as written, with its quotes.
    """
    if _NUMBER.fullmatch(raw):
        return True
    return value.is_literal and _SAFE_TEXT.fullmatch(value.text) is not None


def sets_unknown_values(words: Sequence[Word]) -> bool:
    """Whether a builtin gives a variable a value that cannot be read here."""
    name = words[0].text
    if name in _READING:
        return True
    if name == "printf":
        return any(word.text.startswith("-v") or not word.is_literal for word in words[1:2])
    if name in _DECLARING:
        return not all(word.is_literal and _SAFE_TEXT.fullmatch(word.text) for word in words[1:])
    return False


def arithmetic_doubt(text: str) -> str:
    """Why an arithmetic expression itself may run a command; "" if it cannot."""
    return "" if _ARITHMETIC.fullmatch(text) else f"it computes {cut(text.strip(), 40)!r}, which may hold a command"


def names_in(text: str) -> bool:
    """Whether an arithmetic expression uses variables: bash computes their values in turn."""
    return _IDENTIFIER.search(text) is not None


_UNARY: Final = re.compile(r"-[a-zA-Z]")
_BINARY: Final = re.compile(r"={1,2}|!=|<|>|-(?:eq|ne|lt|le|gt|ge|nt|ot|ef)")


def builtin_reading(words: Sequence[Word]) -> tuple[str, bool]:
    """What a builtin's arguments run when the builtin computes or tests them.

    Returns:
        Why it may run a command, "" if it cannot; and whether it does so with the values of variables.
    """
    name, rest = words[0].text, words[1:]
    if name == "let":
        why = next(filter(None, (arithmetic_doubt(word.text) for word in rest)), "")
        return why, any(not word.is_literal or names_in(word.text) for word in rest)
    if name in _DECLARING:
        is_computed = any(re.fullmatch(r"-\w*i\w*", word.text) for word in rest)
        values = [word.text.partition("=")[2] for word in rest if is_computed]
        why = next(filter(None, map(arithmetic_doubt, values)), "")
        return why, is_computed or any(not word.is_single for word in rest)
    if name in ("[", "test"):
        return _test_reading(rest[:-1] if name == "[" and rest and rest[-1].text == "]" else rest)
    if name in ("unset", "wait", "printf"):
        return "", any(not word.is_single for word in rest[:1])
    return "", False


def _test_reading(words: Sequence[Word]) -> tuple[str, bool]:
    """`-v` executes a subscript in the name after it; a word that cannot be read may be a `-v`."""
    chunk: list[Word] = []
    is_open = False
    for word in (*words, Word("-a")):
        if word.is_literal and word.text in ("-a", "-o", "(", ")", "!"):
            why, opens = _chunk_reading(chunk)
            if why:
                return why, True
            is_open = is_open or opens
            chunk = []
        else:
            chunk.append(word)
    return "", is_open


def _chunk_reading(chunk: Sequence[Word]) -> tuple[str, bool]:
    operators = [word for word in chunk if word.is_literal and word.text in ("-v", "-R")]
    if operators:
        named = [word for word in chunk if word not in operators]
        return (
            "" if all(w.is_literal and is_name(w.text) for w in named) else "it tests a name that cannot be read"
        ), False
    hidden = [word for word in chunk if not word.is_literal]
    if not hidden:
        return "", False
    is_shaped = (
        len(chunk) == 1
        or (len(chunk) == 2 and chunk[0].is_literal and _UNARY.fullmatch(chunk[0].text) is not None)
        or (len(chunk) == 3 and chunk[1].is_literal and _BINARY.fullmatch(chunk[1].text) is not None)
    )
    return "", not (is_shaped and all(word.is_single for word in hidden))

"""Shells and interpreters, which read code from an option, from their input or from a file."""

from __future__ import annotations

import re
from collections.abc import Callable

from rawko.tools.shell.handlers.inner import (
    NOTHING,
    SPECIAL_FILE,
    Inner,
    Words,
    doubt,
)
from rawko.tools.shell.handlers.prefixes import script_of
from rawko.tools.shell.programs import (
    PYTHON_MODULES_OF_CODE,
    Interpreter,
)
from rawko.tools.shell.words import HIDDEN_WORDS, Word


def shell(words: Words) -> Inner:
    for at, word in enumerate(words):
        if not word.is_literal:
            if word.may_be_option or SPECIAL_FILE.fullmatch(word.start + "/"):
                return doubt("a shell gets arguments that cannot be read")
            return NOTHING
        text = word.text
        if text in ("--norc", "--noprofile", "--posix", "--version", "--help", "--login"):
            continue
        if re.fullmatch(r"-[abefhklmnptuvxBCEHP]*c[abefhklmnptuvxBCEHP]*", text):
            return script_of(None, words[at + 1 :])
        if re.fullmatch(r"[-+][abefhklmnptuvxBCEHP]+", text):
            continue
        if re.fullmatch(r"[-+][abefhklmnptuvxBCEHP]*o[abefhklmnptuvxBCEHP]*", text):
            return shell(words[at + 2 :]) if at + 2 <= len(words) else NOTHING
        if text.startswith(("-", "+")):
            return doubt(f"a shell gets the option {text!r}")
        return doubt("a shell reads its commands from its input") if SPECIAL_FILE.fullmatch(text) else NOTHING
    if any(word.text in ("--version", "--help") for word in words):
        return NOTHING
    return doubt("a shell reads its commands from its input")


def interpreter_of(interpreter: Interpreter, name: str) -> Callable[[Words], Inner]:
    def read(words: Words) -> Inner:
        at = 0
        is_asked = False
        while at < len(words):
            word = words[at]
            if not word.is_literal:
                if word.may_be_option or SPECIAL_FILE.fullmatch(word.start + "/"):
                    return doubt(f"{name} gets arguments that cannot be read")
                return NOTHING
            text = word.text
            if name in ("python", "pypy") and re.fullmatch(r"-[bBdEIOPqRsSuvx]*m.*", text):
                return _python_module(text.partition("m")[2], words[at + 1 :])
            if interpreter.code.fullmatch(text):
                return doubt(f"{name} gets code in {text!r}")
            if text.startswith("-") and text != "-":
                if not interpreter.flags.fullmatch(text):
                    return doubt(f"{name} gets the option {text!r}")
                is_asked = is_asked or text in ("-V", "-VV", "-v", "-h", "--version", "--help", "-version", "--test")
                at += 2 if text in interpreter.valued else 1
                continue
            return doubt(f"{name} reads code from its input") if SPECIAL_FILE.fullmatch(text) else NOTHING
        if is_asked or not interpreter.reads_input:
            return NOTHING
        return doubt(f"{name} reads code from its input")

    return read


def _python_module(attached: str, following: Words) -> Inner:
    module = Word(attached) if attached else (following[0] if following else HIDDEN_WORDS)
    if not module.is_literal or module.text.partition(".")[0] in PYTHON_MODULES_OF_CODE:
        return doubt("python runs a module that takes code")
    return NOTHING


def input_reader(words: Words) -> Inner:
    if words and all(word.is_literal and word.text in ("--version", "--help") for word in words):
        return NOTHING
    return doubt("it takes commands of its own, with one to run others")

"""Recognises programs of sed and awk that certainly run no command; any other program is a doubt.

s/a/b/g; 5,10p; /x/d    certain: no command
s/x/rm y/e, 1e rm y     a doubt: `e` executes
{print $1}              certain; system(...), "..." | getline and print | "..." are doubts
"""

from __future__ import annotations

import re
from typing import Final

from rawko.cutting import cut

_SET: Final = r"\[\^?\]?(?:\[:\w+:\]|(?!{d})[^\]\\\[])*\]"
"""A set of characters. A program whose delimiter occurs in a set is a doubt."""
_REGEX: Final = r"(?:(?!{d})[^\\\[\n]|\\.|" + _SET + ")*"


def _delimited(delimiter: str) -> str:
    return _REGEX.replace("{d}", delimiter)


_SLASHED: Final = f"/{_delimited('/')}/[IM]*"
_ADDRESS: Final = re.compile(
    rf"\s*(?:(?:\d+(?:~\d+)?|\$|{_SLASHED}|\\(?P<d>[^\n\\\[]){_delimited('(?P=d)')}(?P=d)[IM]*)"
    rf"\s*(?:,\s*(?:[+~]?\d+|\$|{_SLASHED}))?)?\s*!?\s*",
    re.DOTALL,
)
_PLAIN: Final = re.compile(r"[=dDgGhHnNpPxz{}]|[lLqQ]\s*\d*|[btT]\s*\w*|:\s*\w+|#[^\n]*")
_TEXT: Final = re.compile(r"[aic](?:[^\\\n]|\\.)*", re.DOTALL)
_FILE: Final = re.compile(r"[rRwW]\s*[^\n]+")
_REPLACEMENT: Final = r"(?:(?!{d})[^\\]|\\.)*"
_SUBSTITUTE: Final = re.compile(
    rf"s(?P<d>[^\\\n\[]){_delimited('(?P=d)')}(?P=d){_REPLACEMENT.replace('{d}', '(?P=d)')}(?P=d)"
    r"(?:[gpiIm0-9]*(?:w\s*[^\n]+)?)"
    rf"|y(?P<y>[^\\\n]){_REPLACEMENT.replace('{d}', '(?P=y)')}(?P=y){_REPLACEMENT.replace('{d}', '(?P=y)')}(?P=y)",
    re.DOTALL,
)
_END: Final = re.compile(r"[ \t]*(?:[;\n]|(?=\})|\Z|(?=#))\s*")
_BETWEEN: Final = re.compile(r"[ \t\n;]*")
_AWK_RISKY: Final = re.compile(r"system|(?<!\|)\|(?!\|)|@|\|&|getline|include|load", re.IGNORECASE)


def sed_doubt(program: str) -> str:
    """Why a sed program may run a command; "" if it certainly does not."""
    doubt = f"it holds the sed program {cut(program, 40)!r}, which cannot be read for sure"
    at = _skip(program, 0)
    while at < len(program):
        address = _ADDRESS.match(program, at)
        at = address.end() if address else at
        command = next(filter(None, (kind.match(program, at) for kind in (_SUBSTITUTE, _PLAIN, _TEXT, _FILE))), None)
        if command is None:
            return doubt
        at = command.end()
        if command.group() in ("{", "}"):
            at = _skip(program, at)
            continue
        end = _END.match(program, at)
        if end is None:
            return doubt
        at = _skip(program, end.end())
    return ""


def _skip(program: str, at: int) -> int:
    match = _BETWEEN.match(program, at)
    return match.end() if match else at


def awk_doubt(program: str) -> str:
    """Why an awk program may run a command; "" if it certainly does not."""
    if _AWK_RISKY.search(program):
        return f"it holds the awk program {cut(program, 40)!r}, which may run others"
    return ""

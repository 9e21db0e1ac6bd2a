"""Tokens of a pattern as one regular expression whose matching time has a polynomial bound.

    a*b*c   ->  a (?>[^/]*?b) [^/]*c          "b" is taken at its first place, without backtracking
    **/a*/x ->  (?:[^/]+/)* a[^/]*/x

Why the first place is enough: a piece between two gaps has a fixed length. Its leftmost match leaves the longest rest
for the pieces after it, so an atomic group `(?>...)`, which never backtracks, loses no match. In `a*b*c` on "axbxbc"
the first "b" leaves "xbc", in which "c" is found; the second "b" would leave only "c".

Gaps that cross folders (`**`) separate blocks. Within a block the number of slashes is fixed, so all possible ends of
its match lie in one folder, and the leftmost match of the block ends first. Only the last gap is searched from the end
of the text. For n characters and m gaps, matching takes about n * m steps; with two gaps that cross folders around gaps
that do not, n * n. No pattern takes exponential time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

Gap = Literal["star", "folders", "all"]
"""`star`: any characters but "/"; `folders`: any number of whole folders; `all`: any characters, "/" included."""

Token: TypeAlias = tuple[Literal["one"], str] | tuple[Literal["gap"], Gap]
"""Either an expression that matches exactly one character, or a gap."""

GAPS: Final[dict[Gap, str]] = {"star": "[^/]*", "folders": "(?:[^/]+/)*", "all": "(?s:.)*"}


def one(expression: str) -> Token:
    """A token for exactly one character."""
    return ("one", expression)


def gap(kind: Gap) -> Token:
    """A token for any number of characters."""
    return ("gap", kind)


def linear_regex(tokens: Sequence[Token]) -> str:
    """The expression for the whole text, or for a prefix of it when the caller appends more.

    What the caller appends must begin with a fixed character or be the end of the text.
    """
    pieces, gaps = _pieces(tokens)
    expression, start = "", 0
    opener: Gap | None = None
    for number, kind in enumerate([*gaps, None]):
        if kind == "star":
            continue
        is_last = kind is None
        block = _block(pieces[start : number + 1], is_last=is_last)
        if opener is None:
            expression += block
        elif is_last:
            expression += GAPS[opener] + block
        elif block:
            expression += f"(?>{GAPS[opener]}?{block})"
        start, opener = number + 1, _wider(opener, kind) if not block and opener else kind
    return expression


def _pieces(tokens: Sequence[Token]) -> tuple[list[str], list[Gap]]:
    """The fixed pieces and the gaps between them, one piece more than gaps. Adjacent gaps are merged where possible."""
    pieces, gaps = [""], list[Gap]()
    for token in tokens:
        if token[0] == "one":
            pieces[-1] += token[1]
        elif gaps and not pieces[-1] and (gaps[-1] == token[1] or "all" in (gaps[-1], token[1])):
            gaps[-1] = "all" if "all" in (gaps[-1], token[1]) else gaps[-1]
        else:
            gaps.append(token[1])
            pieces.append("")
    return pieces, gaps


def _wider(first: Gap, second: Gap | None) -> Gap | None:
    return "all" if "all" in (first, second) else second


def _block(pieces: Sequence[str], *, is_last: bool) -> str:
    """The pieces of a block with stars between them; in the last block the last piece is searched from the end."""
    first, *others = pieces
    tail = ""
    if others and is_last:
        tail = GAPS["star"] + others.pop()
    return first + "".join(f"(?>[^/]*?{piece})" for piece in others if piece) + tail

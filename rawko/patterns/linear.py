"""Tokens of a pattern as one regular expression that cannot blow up.

    a*b*c   ->  a (?>[^/]*?b) [^/]*c          the b at the first place that fits, never reconsidered
    **/a*/x ->  (?:[^/]+/)* a[^/]*/x

A piece between two gaps has a fixed length, so the first place where it fits leaves the most to what follows: to take
it and never look back (an atomic group) loses no match. Pieces between gaps that cross folders form blocks; within a
block the number of slashes is fixed, so all ends of a match lie in one folder, and the leftmost block ends first.
Only the last gap is searched backwards from the end. Matching a text of n characters takes at most about n * m steps
for a pattern of m gaps; two gaps that cross folders around gaps that do not, n * n. None grows exponentially.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

Gap = Literal["star", "folders", "all"]
"""`star`: anything within a name; `folders`: any whole folders; `all`: anything, slashes included."""

Token: TypeAlias = tuple[Literal["one"], str] | tuple[Literal["gap"], Gap]
"""An expression that matches exactly one character, or a gap."""

GAPS: Final[dict[Gap, str]] = {"star": "[^/]*", "folders": "(?:[^/]+/)*", "all": "(?s:.)*"}


def one(expression: str) -> Token:
    """A token for exactly one character."""
    return ("one", expression)


def gap(kind: Gap) -> Token:
    """A token for any number of characters."""
    return ("gap", kind)


def linear_regex(tokens: Sequence[Token]) -> str:
    """The expression, to be matched against a whole text (or followed by what may come behind it).

    What follows it has to begin with a fixed character or be the end.
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
    """Fixed pieces, and the gaps between them: one piece more than gaps. Adjacent gaps are one where they can be."""
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
    """Pieces with stars between them; of the last block the last piece is sought from the end."""
    first, *others = pieces
    tail = ""
    if others and is_last:
        tail = GAPS["star"] + others.pop()
    return first + "".join(f"(?>[^/]*?{piece})" for piece in others if piece) + tail

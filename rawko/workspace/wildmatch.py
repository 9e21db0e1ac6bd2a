"""One line of a .gitignore as a compiled pattern, in git's own dialect and on bytes.

The public matchers work on text, test a whole path at once and know no POSIX classes; here each component of
a path is decided on its own, as git does it. Which files the lines come from is `ignore`'s.

A translated pattern cannot blow up: between two stars a match is taken at the first place that fits and never
reconsidered (atomic groups), which loses nothing because all other pieces have a fixed length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

_ANY: Final = rb"[^/]"
_NEVER: Final = rb"(?!)"
_FOLDERS: Final = rb"(?:[^/]+/)"

_PLAIN = re.compile(rb"[^*?\[\\]*")
_SPACE = frozenset(b" \t\n\v\f\r")
_DIGIT = frozenset(b"0123456789")
_UPPER = frozenset(range(ord("A"), ord("Z") + 1))
_LOWER = frozenset(range(ord("a"), ord("z") + 1))
_GRAPH = frozenset(range(0x21, 0x7F))
_CLASSES: dict[bytes, frozenset[int]] = {
    b"alnum": _UPPER | _LOWER | _DIGIT,
    b"alpha": _UPPER | _LOWER,
    b"blank": frozenset(b" \t"),
    b"cntrl": frozenset(range(0x20)) | {0x7F},
    b"digit": _DIGIT,
    b"graph": _GRAPH,
    b"lower": _LOWER,
    b"print": _GRAPH | {0x20},
    b"punct": _GRAPH - _UPPER - _LOWER - _DIGIT,
    b"space": _SPACE,
    b"upper": _UPPER,
    b"xdigit": _DIGIT | frozenset(b"abcdefABCDEF"),
}

Token = bytes | Literal["star", "slash"]
"""A regular expression of one byte, or one of the two marks."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled line.

    Attributes:
        expression: Must match the whole name (or path).
        is_path: Match the path relative to the file's folder; else the last component alone.
        only_folders: The line ended in `/`.
        includes: The line began with `!`: it takes a file back in.
    """

    expression: bytes
    is_path: bool
    only_folders: bool
    includes: bool


def parse(content: bytes) -> Iterator[Pattern]:
    """The patterns of a .gitignore file, in order."""
    for line in content.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        if not line.startswith(b"#"):
            pattern = _pattern(_trim(line.removesuffix(b"\r")))
            if pattern:
                yield pattern


def _trim(line: bytes) -> bytes:
    """Without trailing spaces, except one that a backslash protects."""
    end = at = 0
    while at < len(line):
        is_space = line[at : at + 1] == b" "
        at += 2 if line[at : at + 1] == b"\\" else 1
        if not is_space:
            end = at
    return line[:end]


def _pattern(line: bytes) -> Pattern | None:
    includes = line.startswith(b"!")
    body = line[1:] if includes else line
    only_folders = body.endswith(b"/")
    body = body[:-1] if only_folders else body
    if not body:
        return None
    if b"/" not in body:
        return Pattern(_translate(body), False, only_folders, includes)
    # git compares what precedes the first special character by itself, so a `**` right behind it counts as one at the
    # start: `f**/bar` takes out foo/x/bar.
    body = body.removeprefix(b"/")
    plain = _PLAIN.match(body)
    start = plain.end() if plain else 0
    return Pattern(re.escape(body[:start]) + _translate(body[start:]), True, only_folders, includes)


def _translate(glob: bytes) -> bytes:
    try:
        tokens = list(_tokens(glob))
    except ValueError:
        return _NEVER
    components: list[list[Token]] = [[]]
    for token in tokens:
        if token == "slash":
            components.append([])
        else:
            components[-1].append(token)
    return _path(components)


def _path(components: Sequence[Sequence[Token]]) -> bytes:
    """Blocks of components between `**`; every block but the last is matched at the first place that fits."""
    blocks: list[list[bytes]] = [[]]
    for component in components:
        if len(component) > 1 and all(token == "star" for token in component):
            blocks.append([])
        else:
            blocks[-1].append(_component(component))
    first, *others = [b"/".join(block) for block in blocks]
    if not others:
        return first
    *middle, last = others
    ahead = first + b"/" if blocks[0] else b""
    between = b"".join(b"(?>" + _FOLDERS + b"*?" + block + b"/)" for block in middle if block)
    behind = _FOLDERS + b"*" + last if blocks[-1] else rb"(?s:.*)"  # `**/` needs a name behind it, `**` does not
    return ahead + between + behind


def _component(tokens: Sequence[Token]) -> bytes:
    pieces: list[bytes] = [b""]
    for token in tokens:
        if isinstance(token, bytes):
            pieces[-1] += token
        else:
            pieces.append(b"")
    first, *others = pieces
    if not others:
        return first
    *middle, last = others
    return first + b"".join(b"(?>[^/]*?" + piece + b")" for piece in middle if piece) + b"[^/]*" + last


def _tokens(glob: bytes) -> Iterator[Token]:
    """Raises ValueError for what git never matches: an open bracket, a backslash at the end."""
    at = 0
    while at < len(glob):
        char = glob[at : at + 1]
        at += 1
        if char == b"*":
            yield "star"
        elif char == b"/":
            yield "slash"
        elif char == b"?":
            yield _ANY
        elif char == b"[":
            members, at = _bracket(glob, at)
            yield _any_of(members)
        elif char == b"\\":
            if at == len(glob):
                raise ValueError("nothing follows the backslash")
            escaped = glob[at : at + 1]
            yield "slash" if escaped == b"/" else re.escape(escaped)
            at += 1
        else:
            yield re.escape(char)


def _any_of(members: frozenset[int]) -> bytes:
    members -= {ord("/")}
    return b"[" + b"".join(b"\\x%02x" % byte for byte in sorted(members)) + b"]" if members else _NEVER


def _bracket(glob: bytes, at: int) -> tuple[frozenset[int], int]:
    """The bytes that a bracket expression stands for, and the place after it (git's wildmatch.c, `case '['`)."""
    negated = glob[at : at + 1] in (b"!", b"^")
    at += negated
    members: set[int] = set()
    previous: int | None = None
    is_first = True
    while is_first or _byte(glob, at) != ord("]"):
        is_first = False
        char = _byte(glob, at)
        if char == ord("-") and previous is not None and glob[at + 1 : at + 2] not in (b"", b"]"):
            end, at = _member(glob, at + 1)
            members.update(range(previous, end + 1))
            previous = None
        elif glob.startswith(b"[:", at) and (named := _named_class(glob, at)):
            members |= _CLASSES[named]
            at += len(named) + 4
            previous = None
        else:
            previous, at = _member(glob, at)
            members.add(previous)
    return (frozenset(range(256)) - members if negated else frozenset(members)), at + 1


def _named_class(glob: bytes, at: int) -> bytes | None:
    """The name in `[:name:]`, or None where the text up to the next bracket is no such form."""
    close = glob.find(b"]", at + 2)
    if close < 0:
        raise ValueError("the bracket is not closed")
    if close == at + 2 or glob[close - 1 : close] != b":" or close - 1 < at + 2:
        return None
    name = glob[at + 2 : close - 1]
    if name not in _CLASSES:
        raise ValueError("no such class")
    return name


def _member(glob: bytes, at: int) -> tuple[int, int]:
    if _byte(glob, at) == ord("\\"):
        at += 1
    return _byte(glob, at), at + 1


def _byte(glob: bytes, at: int) -> int:
    if at >= len(glob):
        raise ValueError("the bracket is not closed")
    return glob[at]

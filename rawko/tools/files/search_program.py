"""The program behind glob and grep: walks a folder and prints its findings as one JSON object.

It runs as a script (`python -I .../search_program.py FOLDER_OF_RAWKO`), so that a regular expression that runs too
long can be killed. It imports only the standard library, `rawko.cutting` and `rawko.patterns`: it must start in a few
milliseconds.

In: one JSON object on standard input (see `rawko.tools.files.search.Request`). Out: see
`rawko.tools.files.search.Found`; null if the start was replaced or removed since the request.
Folders are opened one below the other without following links, from the descriptor that the parent passes.
"""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

if __name__ == "__main__":
    # An isolated interpreter may not find this package. Appended last, so that no module beside it shadows another.
    sys.path.append(sys.argv[1])

from rawko.cutting import cut
from rawko.patterns.exclusions import MAX_DEPTH, is_git_name
from rawko.patterns.ignorefile import level

MAX_IGNORE_BYTES = 1_000_000
"""Bytes of a .gitignore that are read."""
MAX_LINE_CHARS = 20_000
"""Characters of a line that are searched; only machine-made lines are longer."""

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Entry(NamedTuple):
    """A path below the root, and the folder that contains it."""

    path: str
    name: str
    dir_fd: int
    is_file: bool


class Ignores:
    """The .gitignore files from the root down to one folder; the deepest file with a matching line decides."""

    def __init__(self, above: Ignores | None, base: str, dir_fd: int) -> None:
        self._above, self._base = above, base
        self._rules = level(_ignore_file(dir_fd))

    def covers(self, path: str, is_folder: bool) -> bool:
        level: Ignores | None = self
        while level is not None:
            verdict = level._verdict(path, is_folder)
            if verdict is not None:
                return verdict
            level = level._above
        return False

    def _verdict(self, path: str, is_folder: bool) -> bool | None:
        relative = os.fsencode(path[len(self._base) :])
        return self._rules.decide(relative.rpartition(b"/")[2], relative, is_folder)


def _ignore_file(dir_fd: int) -> bytes:
    try:
        fd = os.open(".gitignore", _FILE, dir_fd=dir_fd)
    except OSError:
        return b""
    with os.fdopen(fd, "rb") as file:
        return file.read(MAX_IGNORE_BYTES) if stat.S_ISREG(os.fstat(fd).st_mode) else b""


class Walk:
    """All files below a folder in path order; `.git` is not entered, links are listed but not followed."""

    def __init__(self, with_ignored: bool, is_hidden: Callable[[str], bool]) -> None:
        self.with_ignored, self.is_hidden = with_ignored, is_hidden
        self.unreadable = 0

    def below(self, fd: int, base: str, above: Ignores | None, depth: int = 0) -> Iterator[Entry]:
        ignores = None if self.with_ignored else Ignores(above, base, fd)
        try:
            with os.scandir(fd) as scan:
                found = [(entry.name, entry.is_dir(follow_symlinks=False), _is_file(entry)) for entry in scan]
        except OSError:
            self.unreadable += 1
            return
        for name, is_folder, is_file in sorted(found, key=lambda item: item[0] + ("/" if item[1] else "")):
            path = base + name
            if is_git_name(name) or self.is_hidden(path) or (ignores is not None and ignores.covers(path, is_folder)):
                continue
            if not is_folder:
                yield Entry(path, name, fd, is_file)
            elif depth < MAX_DEPTH:
                yield from self._into(fd, name, path, ignores, depth)

    def _into(self, fd: int, name: str, path: str, ignores: Ignores | None, depth: int) -> Iterator[Entry]:
        try:
            inner = os.open(name, _DIRECTORY, dir_fd=fd)
        except OSError:
            self.unreadable += 1
            return
        try:
            yield from self.below(inner, path + "/", ignores, depth + 1)
        finally:
            os.close(inner)


def _is_file(entry: os.DirEntry[str]) -> bool:
    return entry.is_file(follow_symlinks=False)


class Output:
    """The findings, up to a number of items and a number of characters."""

    def __init__(self, max_items: int, max_chars: int) -> None:
        self._items_left, self._chars_left = max_items, max_chars
        self.items: list[Any] = []
        self.is_cut = False

    def add(self, item: Any, chars: int) -> bool:
        """Add an item; False if the limit is reached."""
        if self._items_left <= 0 or self._chars_left <= 0:
            self.is_cut = True
            return False
        self._items_left -= 1
        self._chars_left -= chars
        self.items.append(item)
        return True


def shown(text: str) -> str:
    """A path as valid Unicode: bytes that are not UTF-8 become backslash escapes."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def list_files(entries: Iterator[Entry], skip: int, matches: Callable[[str], Any], output: Output) -> None:
    for entry in entries:
        if matches(entry.path[skip:]) and not output.add(shown(entry.path), len(entry.path) + 1):
            return


class Grep:
    """Searches files line by line."""

    def __init__(self, request: dict[str, Any], output: Output) -> None:
        flags = re.IGNORECASE if request["ignore_case"] else 0
        self._search = re.compile(request["pattern"], flags).search
        self._context, self._line_chars = request["context"], request["line_chars"]
        self._files_only, self._max_bytes = request["files_only"], request["max_file_bytes"]
        self._output = output
        self.searched = self.binary = self.too_large = 0

    def file(self, entry: Entry) -> bool:
        """Search one file; False if the limit is reached."""
        if not entry.is_file:
            return True
        lines = self._lines(entry)
        if lines is None:
            return True
        self.searched += 1
        hits = [number for number, line in enumerate(lines) if self._search(line[:MAX_LINE_CHARS])]
        if not hits:
            return True
        if self._files_only:
            return self._output.add([shown(entry.path), len(hits)], len(entry.path) + 8)
        return self._report(shown(entry.path), lines, hits)

    def _lines(self, entry: Entry) -> list[str] | None:
        try:
            fd = os.open(entry.name, _FILE, dir_fd=entry.dir_fd)
        except OSError:
            return None
        with os.fdopen(fd, "rb") as file:
            info = os.fstat(fd)
            if not stat.S_ISREG(info.st_mode):
                return None
            if info.st_size > self._max_bytes:
                self.too_large += 1
                return None
            try:
                data = file.read(self._max_bytes)
            except OSError:
                return None
        if b"\0" in data[:8192]:
            self.binary += 1
            return None
        lines = data.decode("utf-8", errors="replace").split("\n")
        if lines[-1] == "":
            lines.pop()
        return [line.removesuffix("\r") for line in lines]

    def _report(self, path: str, lines: list[str], hits: list[int]) -> bool:
        wanted = set(hits)
        last = -1
        for hit in hits:
            for number in range(max(hit - self._context, last + 1), min(hit + self._context + 1, len(lines))):
                line = lines[number]
                text = cut(line, self._line_chars, " […]", is_beyond=True)
                if not self._output.add([path, number + 1, number in wanted, text], len(path) + len(text) + 10):
                    return False
                last = number
        return True


class StartGone(Exception):
    """The start was replaced or removed since the request."""


def open_below(root_fd: int, parts: list[str]) -> int:
    fd = os.dup(root_fd)
    for part in parts:
        try:
            inner = os.open(part, _DIRECTORY, dir_fd=fd)
        except OSError as error:
            raise StartGone from error
        finally:
            os.close(fd)
        fd = inner
    return fd


def start(request: dict[str, Any], walk: Walk) -> Iterator[Entry]:
    """The entries below the requested start; for a file, that file alone, ignored or not."""
    root_fd: int = request["root_fd"]
    parts: list[str] = request["start"]
    if request["is_file"]:
        if walk.is_hidden("/".join(parts)):
            return
        yield Entry("/".join(parts), parts[-1], open_below(root_fd, parts[:-1]), True)
        return
    ignores: Ignores | None = None
    base = ""
    for depth, part in enumerate(parts):
        ignores = Ignores(ignores, base, open_below(root_fd, parts[:depth]))
        base += part
        if ignores.covers(base, True):
            # A request that names an ignored folder is about its contents.
            walk.with_ignored = True
        base += "/"
    yield from walk.below(open_below(root_fd, parts), base, ignores)


def main(request: dict[str, Any]) -> dict[str, Any]:
    hidden = [re.compile(pattern, re.IGNORECASE).fullmatch for pattern in request["hidden"]]
    walk = Walk(request["with_ignored"], lambda path: any(match(path) for match in hidden))
    output = Output(request["max_items"], request["max_chars"])
    entries = start(request, walk)
    skip = len("/".join(request["start"])) + 1 if request["start"] else 0
    names = re.compile(request["names"]).fullmatch if request["names"] else None
    counts = {"searched": 0, "binary": 0, "too_large": 0}
    if request["pattern"] is None:
        list_files(entries, skip, names or (lambda path: True), output)
    else:
        grep = Grep(request, output)
        for entry in entries:
            if (names is None or request["is_file"] or names(entry.path[skip:])) and not grep.file(entry):
                break
        counts = {"searched": grep.searched, "binary": grep.binary, "too_large": grep.too_large}
    return {"items": output.items, "is_cut": output.is_cut, "unreadable": walk.unreadable, **counts}


if __name__ == "__main__":
    asked = json.loads(sys.stdin.buffer.read())
    # If the parent ends, SIGALRM ends this process at its time limit: its default action works even while a regular
    # expression is being matched.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(asked["timeout_s"])
    sys.setrecursionlimit(10_000)
    try:
        found: dict[str, Any] | None = main(asked)
    except StartGone:
        found = None
    sys.stdout.write(json.dumps(found, ensure_ascii=True))

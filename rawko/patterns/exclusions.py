"""Table of what snapshots and searches leave out; capture, restore, glob and grep use its limits and names.

A further kind is a row here, and a case in each of these four: `rawko.workspace.capture.full_scan` (everything),
`hinted_scan` beside it (only the paths that a tool touched), `rawko.workspace.restore.plan`, which refuses trees that
no capture makes, and `rawko.tools.files.search_program` (glob and grep).

Standard library only, because the search process imports it. `ignorefile` decides about the lines of a .gitignore.
"""

from __future__ import annotations

from typing import Final, NamedTuple

MAX_DEPTH: Final = 128
"""Deeper folders are not entered: each level needs an open file descriptor."""
MAX_FILE_BYTES: Final = 100 * 1024 * 1024
"""Larger files are not captured."""


class Exclusion(NamedTuple):
    """A kind of files that is left out.

    Attributes:
        what: The kind, in the words of the documentation.
        captured: Whether a snapshot contains it; "reported": the snapshot lists it as skipped.
        listed: Whether glob and grep list it.
    """

    what: str
    captured: str
    listed: str


EXCLUSIONS: Final = (
    Exclusion("`.git` and all in it, at any depth, in any case (`.GIT`)", "no; reported unless it is `.git`", "no"),
    Exclusion(
        "files that a `.gitignore` or `.git/info/exclude` names",
        "no, unless git tracks it or a file tool writes it",
        "only on request",
    ),
    Exclusion(f"folders inside more than {MAX_DEPTH} others", "no; reported", "no"),
    Exclusion(f"files above {MAX_FILE_BYTES // 1024**2} MiB", "no; reported", "yes"),
    Exclusion("files and folders that cannot be read", "no; reported", "files by name"),
    Exclusion("pipes, sockets, devices", "no", "by name; not searched"),
    Exclusion("links", "as links", "by name; not followed"),
    Exclusion("empty folders", "no", "no"),
    Exclusion("a state folder or a cassette of rawko's in the workspace", "no", "yes"),
)
"""All kinds, for the table in docs/time-travel.md."""


def is_git_name(name: str | bytes) -> bool:
    """Whether a file or folder with this name belongs to git; in any case, because some file systems ignore case."""
    return len(name) == 4 and name.lower() in (".git", b".git")


def exclusions_table() -> str:
    """The table of the documentation."""
    lines = ["| what | in a snapshot | in `glob` and `grep` |", "|---|---|---|"]
    lines += [f"| {one.what} | {one.captured} | {one.listed} |" for one in EXCLUSIONS]
    return "\n".join(lines) + "\n"

"""What snapshots never hold and searches never list, whatever a .gitignore says: for capture, restore, glob and grep.

Standard library only: the search process imports it. What a .gitignore leaves out is `ignorefile`'s.
"""

from __future__ import annotations

from typing import Final, NamedTuple

MAX_DEPTH: Final = 128
"""Folders deeper than this are not entered: each level holds a file descriptor meanwhile."""
MAX_FILE_BYTES: Final = 100 * 1024 * 1024
"""Larger files are not captured."""


class Exclusion(NamedTuple):
    """Something of a workspace that is left out.

    Attributes:
        what: In words, as the documentation says it.
        captured: What a snapshot does with it: nothing, or "told": it is named among what was skipped.
        listed: What glob and grep do with it.
    """

    what: str
    captured: str
    listed: str


EXCLUSIONS: Final = (
    Exclusion("`.git` and all in it, at any depth, in any case (`.GIT`)", "no; told unless it is `.git`", "no"),
    Exclusion("what a `.gitignore` or `.git/info/exclude` names", "no, unless git tracks it", "if it is asked for"),
    Exclusion(f"folders inside more than {MAX_DEPTH} others", "no; told", "no"),
    Exclusion(f"files above {MAX_FILE_BYTES // 1024**2} MiB", "no; told", "yes"),
    Exclusion("files and folders that cannot be read", "no; told", "files by name"),
    Exclusion("pipes, sockets, devices", "no", "by name; not searched"),
    Exclusion("links", "as links", "by name; not followed"),
    Exclusion("empty folders", "no", "no"),
    Exclusion("a state folder or a cassette of rawko's in the workspace", "no", "yes"),
)
"""Everything that is left out, for the table in docs/time-travel.md."""


def is_git_name(name: str | bytes) -> bool:
    """Whether a file or folder of this name is git's own; in any case, because some file systems fold case."""
    return len(name) == 4 and name.lower() in (".git", b".git")


def exclusions_table() -> str:
    """The table of the documentation."""
    lines = ["| what | in a snapshot | in `glob` and `grep` |", "|---|---|---|"]
    lines += [f"| {one.what} | {one.captured} | {one.listed} |" for one in EXCLUSIONS]
    return "\n".join(lines) + "\n"

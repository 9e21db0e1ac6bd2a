"""Keys stay in this process: out of what others can read of it, and of the environment that code in it sees.

    /proc/PID/environ       the values are overwritten in the block that the system shows
    /proc/PID/mem, ptrace   the process is not dumpable; started by root, its children cannot trace what others started
    os.environ              our own keys are taken out; `environment` has them

What remains: root elsewhere on the machine, and the shell that we were started from, whose environment programs of the
same user can read. The kernel's part is Linux's; elsewhere only `os.environ` is changed.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import Final

OWN: Final = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "RAWKO_JOURNAL_URL")
"""What rawko itself signs in with, by the names of variables."""

_ANYWHERE: Final = re.compile(r"APIKEY|ACCESSKEY|COOKIE|CREDENTIAL|PASSPHRASE|PASSWD|PASSWORD|PRIVATE|SECRET|TOKEN")
_PARTS: Final = frozenset(("AUTH", "DSN", "KEY", "KEYS", "PASS", "PAT", "PIN"))
_WITH_PASSWORD: Final = re.compile(r"[a-z][a-z0-9+.-]*://[^/@\s]*:[^/@\s]+@", re.IGNORECASE)

_PR_SET_DUMPABLE: Final = 4
_PR_CAPBSET_DROP: Final = 24
_CAP_SYS_PTRACE: Final = 19
_ENV_START: Final = 47
"""In /proc/self/stat, counted behind the name; the end is next (proc(5): fields 50 and 51)."""

_taken: dict[str, str] = {}


def is_secret(name: str, value: str = "") -> bool:
    """Whether a variable is named as keys and passwords are, in any case, or its value is an address with one."""
    plain = name.upper()
    if _ANYWHERE.search(plain) or not _PARTS.isdisjoint(plain.split("_")):
        return True
    return _WITH_PASSWORD.match(value) is not None


def environment() -> dict[str, str]:
    """The environment of this process, with the keys that `protect` has taken out of it."""
    return _taken | dict(os.environ)


def protect(is_public: Callable[[str], bool]) -> None:
    """Hide keys from other processes, and from code in this one. Call it first, while there is one thread.

    Args:
        is_public: Whether the value of a variable may be seen by every process that we start.
    """
    for name in OWN:
        if name in os.environ:
            _taken[name] = os.environ[name]
    if sys.platform == "linux":
        with suppress(OSError, ValueError, AttributeError):  # a kernel without /proc, a C library without a symbol
            _hide(is_public)
    for name in _taken:
        os.environ.pop(name, None)


def _hide(is_public: Callable[[str], bool]) -> None:
    import ctypes  # here, because it takes some milliseconds

    libc = ctypes.CDLL(None)
    libc.prctl(_PR_CAPBSET_DROP, _CAP_SYS_PTRACE, 0, 0, 0)  # refused to anybody but root, who alone has it
    with open("/proc/self/stat", "rb") as file:  # noqa: PTH123 - before anything else is loaded
        fields = file.read().rpartition(b")")[2].split()
    start, end = int(fields[_ENV_START]), int(fields[_ENV_START + 1])
    place = start
    for entry in ctypes.string_at(start, end - start).split(b"\0"):
        name, is_set, value = entry.partition(b"=")
        if is_set and value and not is_public(os.fsdecode(name)):
            ctypes.memset(place + len(name) + 1, 0, len(value))
            known = os.environ.get(os.fsdecode(name))
            if known is not None and (name.startswith(b"PG") or not is_secret(os.fsdecode(name), known)):
                os.putenv(name, os.fsencode(known))  # a copy elsewhere, for libraries that ask the C library (libpq)
        place += len(entry) + 1
    libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def check_names(patterns: tuple[str, ...], never: tuple[str, ...]) -> tuple[str, ...]:
    """Names and patterns of variables to hand on to commands, as they were given.

    Raises:
        ValueError: One is never handed on, or is so wide that it is no choice.
    """
    for pattern in patterns:
        if re.match(r"[*?\[]", pattern):
            raise ValueError(
                f"{pattern!r} would hand on variables that nobody has chosen, keys among them; "
                "name each one, or begin with what their names have in common, such as 'NPM_CONFIG_*'"
            )
        if any(fnmatchcase(pattern.upper(), one) for one in never):
            raise ValueError(f"{pattern!r} is never handed on to what rawko starts")
    return patterns

"""Keeps API keys from other processes, and from code that reads this process's environment.

    /proc/PID/environ       the keys' values are overwritten in the block that the kernel shows
    /proc/PID/mem, ptrace   the process is not dumpable; when root starts it, its children cannot trace other programs
    os.environ              rawko's own keys are removed; `environment()` still returns them

Not covered: root elsewhere on the machine, and the shell that started rawko, whose environment programs of the same
user can read. Overwriting and not being dumpable need Linux; elsewhere only `os.environ` changes.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import Final

OWN: Final = (
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "OPENAI_API_KEY",
    "RAWKO_JOURNAL_URL",
    "RAWKO_FLEET_URL",
    "RAWKO_PACKS_URL",
)
"""Variables that hold the credentials of rawko's own requests."""

_ANYWHERE: Final = re.compile(r"APIKEY|ACCESSKEY|COOKIE|CREDENTIAL|PASSPHRASE|PASSWD|PASSWORD|PRIVATE|SECRET|TOKEN")
_PARTS: Final = frozenset(("AUTH", "DSN", "KEY", "KEYS", "PASS", "PAT", "PIN"))
_WITH_PASSWORD: Final = re.compile(r"[a-z][a-z0-9+.-]*://[^/@\s]*:[^/@\s]+@", re.IGNORECASE)

_PR_SET_DUMPABLE: Final = 4
_PR_CAPBSET_DROP: Final = 24
_CAP_SYS_PTRACE: Final = 19
_ENV_START: Final = 47
"""Index in /proc/self/stat, counted after the name; the end of the block is the next field (proc(5): fields 50, 51)."""

_taken: dict[str, str] = {}
_kept: dict[str, str] = {}


def is_secret(name: str, value: str = "") -> bool:
    """Whether a variable's name is that of a key or password (in any case), or its value is a URL with a password."""
    plain = name.upper()
    if _ANYWHERE.search(plain) or not _PARTS.isdisjoint(plain.split("_")):
        return True
    return _WITH_PASSWORD.match(value) is not None


def environment() -> dict[str, str]:
    """The environment of this process, including the keys that `protect` has removed from `os.environ`."""
    return _taken | dict(os.environ) | _kept


def keep(name: str, value: str) -> None:
    """Set a variable of `environment()` that programs started from here do not see: an address with a password."""
    _kept[name] = value


def protect(is_public: Callable[[str], bool]) -> None:
    """Hide keys from other processes and from code in this one. Call it first, while the process has one thread.

    Args:
        is_public: Whether every process that rawko starts may see a variable, given its name.
    """
    for name in OWN:
        if name in os.environ:
            _taken[name] = os.environ[name]
    if sys.platform == "linux":
        with suppress(OSError, ValueError, AttributeError):  # no /proc, or a C library without the symbol
            _hide(is_public)
    for name in _taken:
        os.environ.pop(name, None)


def _hide(is_public: Callable[[str], bool]) -> None:
    import ctypes  # not at the top: the import takes some milliseconds

    libc = ctypes.CDLL(None)
    libc.prctl(_PR_CAPBSET_DROP, _CAP_SYS_PTRACE, 0, 0, 0)  # fails unless we are root; only root has the capability
    with open("/proc/self/stat", "rb") as file:  # noqa: PTH123 - pathlib would have to be imported first
        fields = file.read().rpartition(b")")[2].split()
    start, end = int(fields[_ENV_START]), int(fields[_ENV_START + 1])
    place = start
    for entry in ctypes.string_at(start, end - start).split(b"\0"):
        name, is_set, value = entry.partition(b"=")
        if is_set and value and not is_public(os.fsdecode(name)):
            ctypes.memset(place + len(name) + 1, 0, len(value))
            known = os.environ.get(os.fsdecode(name))
            if known is not None and (name.startswith(b"PG") or not is_secret(os.fsdecode(name), known)):
                os.putenv(name, os.fsencode(known))  # a copy in other memory, for libraries that call getenv (libpq)
        place += len(entry) + 1
    libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def check_names(patterns: tuple[str, ...], never: tuple[str, ...]) -> tuple[str, ...]:
    """Check the names and patterns of variables that commands may see in addition; returned unchanged.

    Raises:
        ValueError: One is a variable that commands never see, or a pattern that begins with a wildcard.
    """
    for pattern in patterns:
        if re.match(r"[*?\[]", pattern):
            raise ValueError(
                f"the pattern {pattern!r} begins with a wildcard and could match keys; accepted: a name, "
                "or a pattern that begins with what the names have in common, such as 'NPM_CONFIG_*'"
            )
        if any(fnmatchcase(pattern.upper(), one) for one in never):
            raise ValueError(f"{pattern!r} is never passed to programs that rawko starts")
    return patterns

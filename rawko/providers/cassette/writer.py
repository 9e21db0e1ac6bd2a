"""Writes cassettes: each exchange at once, so that readers see it whole or not at all; `file` defines the format."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from rawko.providers.cassette.errors import CassetteError
from rawko.providers.cassette.file import FORMAT, TITLE, Header, header_size, read_cassette
from rawko.providers.cassette.requests import Asked, abridged

_ASTRAL = re.compile("[\U00010000-\U0010ffff]")
_FRAGILE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff]")


class CassetteWriter:
    """Appends exchanges to a cassette; one writer per file.

    Args:
        keep: Continue a file after this many exchanges (later ones were never acknowledged); None: a new file.

    Raises:
        CassetteError: The file exists already (or, with `keep`, is not a cassette with this header), cannot be written,
            or another process is writing it.
    """

    def __init__(self, path: Path, header: Header, *, keep: int | None = None) -> None:
        self._path = path
        self._asked: list[Asked] = []
        self._fd = _open(path, is_new=keep is None)
        try:
            if keep is None:
                self._write(TITLE + _document(_header_data(header)))
            else:
                self._go_on(header, keep)
        except BaseException:
            self.close()
            raise

    @property
    def count(self) -> int:
        """Number of exchanges so far."""
        return len(self._asked)

    def append(self, asked: Asked, answer: Mapping[str, Any]) -> None:
        """Write one exchange at once.

        Raises:
            CassetteError: The file cannot be written.
        """
        number = len(self._asked) + 1
        data = {"exchange": number, "request": abridged(asked, self._asked), "answer": dict(answer)}
        self._write("---\n" + _document(data))
        self._asked.append(asked)

    def close(self) -> None:
        """Close the file; further calls do nothing."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _go_on(self, header: Header, keep: int) -> None:
        found = read_cassette(self._path)
        if found.header != header:
            raise CassetteError(self._path, f"it holds {found.header}, and {header} is to be recorded")
        kept = found.exchanges[:keep]
        end = found.ends[len(kept) - 1] if kept else header_size(self._path)
        os.ftruncate(self._fd, end)
        self._asked = [exchange.asked for exchange in kept]

    def _write(self, text: str) -> None:
        data = memoryview(text.encode("utf-8"))
        try:
            while data:
                data = data[os.write(self._fd, data) :]
        except OSError as error:
            raise CassetteError(self._path, f"cannot be written: {error.strerror}") from error


def _open(path: Path, *, is_new: bool) -> int:
    flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        if is_new:
            if not path.parent.is_dir():
                raise CassetteError(path, f"there is no folder {str(path.parent)!r}")
            flags |= os.O_CREAT | os.O_EXCL
        descriptor = os.open(path, flags, 0o644)
    except FileExistsError:
        raise CassetteError(path, "exists already; remove it to record anew, or play it with --cassette") from None
    except OSError as error:
        raise CassetteError(path, f"cannot be written: {error.strerror}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise CassetteError(path, "another rawko is recording into it") from None
    return descriptor


# ---------------------------------------------------------------- documents


def _header_data(header: Header) -> dict[str, Any]:
    return {"cassette": FORMAT, "provider": header.provider, "level": header.level, "model": header.model}


def _document(data: Mapping[str, Any]) -> str:
    dumper: Any = _SlowDumper if _has_astral(data) else _Dumper
    text: str = yaml.dump(data, Dumper=dumper, allow_unicode=True, sort_keys=False, width=10**6, explicit_end=True)
    return text


def _has_astral(data: Any) -> bool:
    """Whether a text has characters above U+FFFF, which libyaml can only write as escapes."""
    if isinstance(data, str):
        return _ASTRAL.search(data) is not None
    if isinstance(data, Mapping):
        return any(map(_has_astral, data.values()))
    return isinstance(data, (list, tuple)) and any(map(_has_astral, data))


def _long_text(dumper: Any, text: str) -> Any:
    """Represent texts of several lines as block scalars; texts with characters that YAML readers change are escaped."""
    style = '"' if _FRAGILE.search(text) else "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


class _SlowDumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    def ignore_aliases(self, data: Any) -> bool:
        return True


for _one in (_SlowDumper, _Dumper):
    _one.add_representer(str, _long_text)

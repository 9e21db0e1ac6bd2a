"""Writes down what a provider is asked and answers: cleaned, in the order in which the answers are complete."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rawko.providers.cassette.cleaning import Cleaner
from rawko.providers.cassette.file import Header
from rawko.providers.cassette.requests import Asked, Request, normalised
from rawko.providers.cassette.writer import CassetteWriter


@dataclass(slots=True)
class WireCall:
    """One call of a provider, as its client's middleware sees it.

    Attributes:
        body: What was sent; None before that.
        is_written: Its answer, or what broke it, is in the cassette.
    """

    body: Request | None = None
    is_written: bool = False


WIRE_CALL: ContextVar[WireCall | None] = ContextVar("wire_call", default=None)
"""The call at work: how the recording provider above the client and the middleware inside of it know each other."""


class Recorder:
    """A cassette that is being recorded.

    Args:
        keep: See `CassetteWriter`.

    Raises:
        CassetteError: The file cannot be written.
    """

    def __init__(self, path: Path, header: Header, cleaner: Cleaner, *, keep: int | None = None) -> None:
        self.cleaner = cleaner
        self._writer = CassetteWriter(path, header, keep=keep)

    @property
    def count(self) -> int:
        """Exchanges so far."""
        return self._writer.count

    def write(self, body: Request, answer: Mapping[str, Any]) -> None:
        """Write down one exchange; `answer` is clean already.

        Raises:
            CassetteError: The disk refuses.
        """
        self._writer.append(Asked(self.cleaner.clean_json(normalised(body))), answer)

    def close(self) -> None:
        """Safe to call twice."""
        self._writer.close()

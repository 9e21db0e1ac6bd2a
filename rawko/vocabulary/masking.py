"""Masks keys and passwords in texts, in every spelling in which a server may echo them. Pure.

    unchanged           abc/def+ghi        in a URL, an assignment, a header: whatever surrounds it
    percent-encoded     abc%2Fdef%2Bghi    with capital or small digits, a space as `+`
    in a JSON string    abc\\/def+ghi
    base64, hex         at each of the three offsets in a group, standard and URL alphabet

Values of fewer than MIN_CHARS characters are not masked: they may be words, and masking would damage ordinary text.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Final
from urllib.parse import quote, quote_plus

MIN_CHARS: Final = 8

_FIRST_WHOLE: Final = (0, 2, 3)
"""For a value after 0, 1 or 2 other bytes: index of the first base64 character that depends on the value alone."""
_SEALED: Final = frozenset({"signature", "data", "encrypted_content"})
"""Fields that a server signs or encrypts: they must be sent back unchanged."""


class Masker:
    """Replaces secrets by `[masked NAME]`.

    Args:
        secrets: Maps each secret value to its name.
    """

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self._names = {
            spelling: name
            for value, name in secrets.items()
            if len(value) >= MIN_CHARS
            for spelling in spellings(value)
        }

    def __bool__(self) -> bool:
        return bool(self._names)

    def text(self, text: str) -> str:
        """The text without secrets."""
        return self._pattern.sub(lambda found: f"[masked {self._names[found[0]]}]", text) if self._names else text

    def json(self, value: Any) -> Any:
        """A JSON value without secrets in its texts and keys."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(str(key)): item if key in _SEALED else self.json(item) for key, item in value.items()}
        return [self.json(item) for item in value] if isinstance(value, (list, tuple)) else value

    def stream(self) -> MaskedStream:
        """A masker for a text that arrives in pieces."""
        return MaskedStream(self)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile("|".join(map(re.escape, sorted(self._names, key=len, reverse=True))))

    @cached_property
    def _beginnings(self) -> frozenset[str]:
        return frozenset(spelling[:size] for spelling in self._names for size in range(1, len(spelling)))

    @cached_property
    def _longest(self) -> int:
        return max(map(len, self._names), default=0)

    def open_end(self, text: str) -> int:
        """How many characters at the end of the text may be the beginning of a secret."""
        whole = max((found.end() for found in self._pattern.finditer(text)), default=0) if self._names else len(text)
        for size in range(min(self._longest - 1, len(text) - whole), 0, -1):
            if text[-size:] in self._beginnings:
                return size
        return 0


class MaskedStream:
    """Masks secrets that span pieces: a possible beginning of a secret is held back until the next piece decides."""

    def __init__(self, masker: Masker) -> None:
        self._masker = masker
        self._held = ""

    def feed(self, piece: str) -> str:
        """The text that can be shown so far."""
        text = self._held + piece
        cut = len(text) - self._masker.open_end(text)
        self._held = text[cut:]
        return self._masker.text(text[:cut])

    def end(self) -> str:
        """The text that was held back."""
        held, self._held = self._held, ""
        return self._masker.text(held)


def spellings(value: str) -> frozenset[str]:
    """All spellings of a value."""
    encoded = value.encode("utf-8", "surrogateescape")
    found = {value, quote(value, errors="replace"), quote(value, safe="", errors="replace"), encoded.hex()}
    found |= {quote_plus(value, errors="replace"), encoded.hex().upper()}
    found |= {re.sub("%[0-9A-F]{2}", lambda digits: digits[0].lower(), one) for one in found}
    found |= {json.dumps(value, ensure_ascii=is_ascii)[1:-1] for is_ascii in (True, False)}
    found |= {one.replace("/", "\\/") for one in found}
    return frozenset(found | set(_in_base64(encoded)))


def _in_base64(value: bytes) -> Iterator[str]:
    for before, first in enumerate(_FIRST_WHOLE):
        last = (len(value) + before) * 8 // 6
        for encode in (base64.standard_b64encode, base64.urlsafe_b64encode):
            yield encode(b"\0" * before + value).decode("ascii")[first:last]

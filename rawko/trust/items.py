"""What a project asks for, as data: one item for each thing that takes effect only with the user's trust."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that a project asks for.

    Attributes:
        kind: Of what sort it is, in a word: "rule", "mcp", "bindings" ...
        key: What it keeps when it changes: the setting, the server, the template, the chart.
        text: What it does, on one line.
        file: Where it stands, relative to the project where it lies in it.
        line: From 1; None where no line is known.
        content: Hash of everything else that it stands for: files that it runs or reads, settings beside it.
    """

    kind: str
    key: str
    text: str
    file: str
    line: int | None = None
    content: str = ""

    @property
    def digest(self) -> str:
        """The same for the same thing, wherever its line has moved to."""
        return hash_of([self.kind, self.key, self.text, self.content])

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.text}"

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Item:
        """The item of `to_json`.

        Raises:
            TypeError, ValueError: The data is none.
        """
        texts = {name: data.get(name) for name in ("kind", "key", "text", "file", "content")}
        if not all(isinstance(text, str) for text in texts.values()):
            raise TypeError("an item's fields are texts")
        line = data.get("line")
        if line is not None and not isinstance(line, int):
            raise TypeError("an item's line is a number")
        return cls(line=line, **texts)  # type: ignore[arg-type]


def hash_of(data: Any) -> str:
    """SHA-256 of JSON data, or of bytes; in hex."""
    raw = data if isinstance(data, bytes) else json.dumps(data, sort_keys=True, ensure_ascii=True).encode()
    return hashlib.sha256(raw).hexdigest()

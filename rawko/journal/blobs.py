"""Large texts by their content: a JSON value with its long strings taken out, and put back.

A conversation that stands in a row, in a checkpoint and in the next checkpoint is stored once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

MIN_CHARS = 2_048
"""Shorter texts cost less in the row than a pointer and a row of their own."""

_KEY = "$blob"


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def pack(value: Any) -> tuple[str, dict[str, bytes]]:
    """JSON text of a value, and the long strings that were taken out of it, by digest."""
    taken: dict[str, bytes] = {}

    def visit(part: Any) -> Any:
        if isinstance(part, str) and len(part) >= MIN_CHARS:
            data = part.encode("utf-8", "surrogatepass")
            digest = digest_of(data)
            taken[digest] = data
            return {_KEY: digest}
        if isinstance(part, dict):
            packed = {key: visit(item) for key, item in part.items()}
            return {_KEY: None, "value": packed} if _KEY in part else packed  # a foreign dict that looks like ours
        if isinstance(part, (list, tuple)):
            return [visit(item) for item in part]
        return part

    return json.dumps(visit(value), ensure_ascii=True, separators=(",", ":"), allow_nan=False), taken


def unpack(text: str, fetch: Callable[[str], bytes]) -> Any:
    """The value of a packed text.

    Args:
        fetch: The data of a digest.

    Raises:
        ValueError: The text is damaged, or a blob does not have the digest it is named by.
    """

    def visit(part: Any) -> Any:
        if isinstance(part, dict):
            if _KEY in part:
                digest = part[_KEY]
                if digest is None:
                    return {key: visit(item) for key, item in part["value"].items()}
                data = fetch(digest)
                if digest_of(data) != digest:
                    raise ValueError(f"blob {digest[:12]} is damaged: its content has another digest")
                return data.decode("utf-8", "surrogatepass")
            return {key: visit(item) for key, item in part.items()}
        if isinstance(part, list):
            return [visit(item) for item in part]
        return part

    return visit(json.loads(text))

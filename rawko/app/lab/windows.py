"""Windows: how much of the history a question shows, in the terms of `context:` in an agent's file.

history=5,summary_chars=100     ->   history_select 5, history_evaluate 5, summary_chars {select 100, evaluate 100}
summary_chars.select=0          ->   summary_chars.select 0
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import ValidationError

from rawko.config import ConfigError
from rawko.interpreter.data.values import thaw
from rawko.vocabulary.agent import ContextOptions
from rawko.vocabulary.documents import accepted

Window = tuple[tuple[str, int], ...]
"""Pairs of a key of `context:`, with a dot for keys of a block in it, and its value."""

_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "history": ("history_select", "history_evaluate"),
    "history_select": ("history_select",),
    "history_evaluate": ("history_evaluate",),
    "summary_chars": ("summary_chars.select", "summary_chars.evaluate"),
    "summary_chars.select": ("summary_chars.select",),
    "summary_chars.evaluate": ("summary_chars.evaluate",),
    "full_chars": ("full_chars",),
}


def parse_window(text: str) -> Window:
    """The window that a command line argument names.

    Raises:
        ConfigError: A setting is unknown, or its value invalid.
    """
    found: dict[str, int] = {}
    for part in text.split(","):
        name, is_given, value = (piece.strip() for piece in part.partition("="))
        if name not in _KEYS:
            raise ConfigError(f"--window {text!r}: there is no setting {name!r}{accepted(_KEYS, found=name)}")
        if not is_given or not (value.isascii() and value.isdigit() and len(value) < 8):
            raise ConfigError(f"--window {text!r}: {name} is {value!r}; accepted: a number, as in {name}=5")
        found |= dict.fromkeys(_KEYS[name], int(value))
    window = tuple(sorted(found.items()))
    try:
        ContextOptions.model_validate(with_window(ContextOptions().to_json(), window))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise ConfigError(f"--window {text!r}: {where} is {first['input']!r}: {first['msg']}") from error
    return window


def with_window(options: Mapping[str, Any], window: Window) -> dict[str, Any]:
    """The `context:` of an agent with a window's values."""
    told: dict[str, Any] = thaw(options)
    for name, value in window:
        block, _, key = name.rpartition(".")
        (told[block] if block else told)[key] = value
    return told


class WindowedContext:
    """A view of a machine's context in which every agent has a window; the other fields are unchanged."""

    def __init__(self, context: Any, window: Window) -> None:
        self._context = context
        self.agents = {
            name: {**agent, "context": with_window(agent["context"], window)} for name, agent in context.agents.items()
        }

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

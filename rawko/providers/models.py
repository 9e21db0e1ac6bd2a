"""Model names: the default, and old names mapped to current ones. No SDK here; the command line imports this."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

DEFAULT_MODEL = "claude-sonnet-5"
"""The model where neither the agent, the configuration nor a flag names one."""

ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "claude-sonnet-4": DEFAULT_MODEL,
        "claude-sonnet-4-0": DEFAULT_MODEL,
        "claude-sonnet-4-20250514": DEFAULT_MODEL,
    }
)
"""Names that servers no longer accept, each with the name that is sent in its place."""


BEGINS: Final = "claude-"
"""Prefix of the names of all models of Anthropic's own API."""

CONTEXT_WINDOW: Mapping[str, int] = MappingProxyType({BEGINS: 200_000})
"""Sizes of context windows in tokens, by prefix of the model's name; other servers report a full window by an error."""


def context_window(model: str) -> int | None:
    """Size of a model's context window in tokens, or None; the setting `context_window` takes precedence."""
    return next((tokens for begin, tokens in CONTEXT_WINDOW.items() if model.startswith(begin)), None)


def resolve_model(name: str | None) -> str:
    """The model's name in requests and records; None or "" gives the default.

    Names that are not in `ALIASES` are unchanged: any Messages-API server has models of its own.

    Source: C-23, S3-070.
    """
    return ALIASES.get(name, name) if name else DEFAULT_MODEL

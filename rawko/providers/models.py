"""Model names: the default, and old names pinned to current ones. No SDK here; the command line reads it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

DEFAULT_MODEL = "claude-sonnet-5"
"""What runs where neither the agent, the configuration nor a flag names a model."""

ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "claude-sonnet-4": DEFAULT_MODEL,
        "claude-sonnet-4-0": DEFAULT_MODEL,
        "claude-sonnet-4-20250514": DEFAULT_MODEL,
    }
)
"""Names that servers no longer know, with the name that is sent instead."""


def resolve_model(name: str | None) -> str:
    """The name to send and to write into the run's record; None or "" gives the default.

    Names that are not in the table pass unchanged: any Messages-API server has models of its own.

    Source: C-23, S3-070.
    """
    return ALIASES.get(name, name) if name else DEFAULT_MODEL

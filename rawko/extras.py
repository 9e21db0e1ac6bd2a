"""Optional parts of rawko: which packages each needs, and the one line that installs it.

`pip install rawko` brings charts, the interpreter, actors, contracts and diagrams. Everything else says here what it
needs before it imports that.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final, Literal

Extra = Literal["agents", "eval", "fleet", "http", "journal", "mcp", "openai", "png", "postgres", "tui", "web"]

NEEDS: Final[dict[Extra, tuple[str, ...]]] = {
    "agents": (
        "anthropic",
        "httpx2",
        "jinja2",
        "jsonschema",
        "prompt_toolkit",
        "pygit2",
        "pyte",
        "sqlalchemy",
        "structlog",
        "wcwidth",
    ),
    "eval": ("inspect_ai",),
    "fleet": ("dbos", "pyrate_limiter"),
    "http": ("h11", "httpx2"),
    "journal": ("sqlalchemy",),
    "mcp": ("mcp",),
    "openai": ("openai",),
    "png": ("resvg_py",),
    "postgres": ("psycopg",),
    "tui": ("textual",),
    "web": ("starlette", "uvicorn", "websockets"),
}
"""Modules by extra, as they are imported."""


class MissingExtra(ModuleNotFoundError):
    """Something needs packages that are not installed.

    Attributes:
        extra: The extra that brings them.
        name: The first module that is missing.
        command: The line that installs them.
    """

    def __init__(self, extra: Extra, what: str, missing: str) -> None:
        self.extra = extra
        self.command = f"pip install 'rawko[{extra}]'"
        super().__init__(f"{what} needs more than rawko's core (no module {missing!r}): {self.command}", name=missing)


def require(extra: Extra, what: str) -> None:
    """Make sure that an extra is installed, without importing anything of it.

    Args:
        what: What needs it, as the beginning of the message.

    Raises:
        MissingExtra: A module of it is not there.
    """
    for module in NEEDS[extra]:
        if find_spec(module) is None:
            raise MissingExtra(extra, what, module)

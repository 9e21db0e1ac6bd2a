"""rawko: statecharts for agents. The public names load on first use, so that importing rawko costs nothing."""

from __future__ import annotations

__version__ = "0.1.0"

"""Charts as pictures and as text for people. Nothing here runs a chart or changes one."""

from __future__ import annotations

from rawko.render.mermaid import to_mermaid

__all__ = ["to_mermaid"]

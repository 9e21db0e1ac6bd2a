"""XState v5 machine JSON, in (`import_xstate`) and out (`export_xstate`). What maps to what: docs/formats.md."""

from __future__ import annotations

from rawko.chart.formats.xstate.reading import import_xstate
from rawko.chart.formats.xstate.writing import export_xstate

__all__ = ["export_xstate", "import_xstate"]

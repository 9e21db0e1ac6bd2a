"""XState v5 machine JSON: `import_xstate` and `export_xstate`. docs/formats.md lists how features correspond."""

from __future__ import annotations

from rawko.chart.formats.xstate.reading import import_xstate
from rawko.chart.formats.xstate.writing import export_xstate

__all__ = ["export_xstate", "import_xstate"]

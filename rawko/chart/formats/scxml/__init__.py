"""SCXML (W3C, 2015): `import_scxml` and `export_scxml`, without a data model or with Python's."""

from __future__ import annotations

from rawko.chart.formats.scxml.reading import import_scxml
from rawko.chart.formats.scxml.writing import export_scxml

__all__ = ["export_scxml", "import_scxml"]

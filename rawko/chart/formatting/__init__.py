"""Formats the YAML of a chart: one layout for all charts, with their comments, and with the same meaning.

`comments` finds the comments that a YAML parser drops, `tree` assigns them to entries, `key_order` sorts the keys of
elements, `scalars` writes single values, and `layout` writes the whole text.
"""

from __future__ import annotations

from rawko.chart.formatting.format import Unformattable, format_chart

__all__ = ["Unformattable", "format_chart"]

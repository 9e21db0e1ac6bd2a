"""Formats the YAML of a chart: one layout for all charts, with their comments, and with the same meaning.

`comments` finds what a YAML parser leaves out, `tree` puts it beside the entries that it is about, `key_order` says in
which order the keys of an element stand, `scalars` writes single values, and `layout` writes the whole.
"""

from __future__ import annotations

from rawko.chart.formatting.format import Unformattable, format_chart

__all__ = ["Unformattable", "format_chart"]

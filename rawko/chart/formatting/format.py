"""`format_chart`: writes a chart's YAML in the standard layout, and checks that the meaning is unchanged."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields

import yaml

from rawko.chart.definition import Chart
from rawko.chart.errors import ChartError
from rawko.chart.formatting.comments import Comments
from rawko.chart.formatting.key_order import order_chart
from rawko.chart.formatting.layout import lines_of
from rawko.chart.formatting.tabs import without_tabs
from rawko.chart.formatting.tree import Collection, read_tree
from rawko.chart.fragments.files import FragmentFiles, no_files
from rawko.chart.parse import parse_chart


class Unformattable(ValueError):
    """A valid chart whose text cannot be formatted without changing its meaning or comments; it stays unchanged."""


def format_chart(text: str, *, file: str = "<chart>", fragments: FragmentFiles = no_files) -> str:
    """The text of a chart in the standard layout: indentation, order of keys, quotes, blank lines; comments stay.

    A formatted text stays the same when it is formatted again. Python code in the chart is parsed, never run.

    Args:
        fragments: As for `parse_chart`; a `use` stays as written.

    Raises:
        ChartSyntaxError, ChartError: The text is not a chart, or a chart with defects, which has no definite meaning.
        Unformattable: The result would be a different chart, or have different comments.
    """
    before = parse_chart(text, file=file, trusted=True, fragments=fragments)
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n")
    if plain.startswith("%"):
        raise Unformattable(f"{file}: it begins with a directive of YAML (%); leave it out")
    try:
        plain = without_tabs(plain)
        tree = read_tree(plain)
    except yaml.YAMLError as error:  # the chart reader uses another parser, libyaml, if it is installed
        raise Unformattable(f"{file}: it cannot be formatted: {' '.join(str(error).split())}") from error
    if isinstance(tree.root, Collection):
        order_chart(tree.root)
    found = "\n".join(lines_of(tree)) + "\n"
    try:
        after = parse_chart(found, file=file, trusted=True, fragments=fragments)
    except ChartError as error:
        raise Unformattable(f"{file}: it cannot be formatted: {error}") from error
    if not _is_same(before, after) or _comments(found) != _comments(plain):
        raise Unformattable(f"{file}: it cannot be formatted without a change of what it says")
    return found.replace("\n", "\r\n") if "\r\n" in text else found


def _is_same(before: Chart, after: Chart) -> bool:
    """Whether two charts are equal, including descriptions and the order of states; positions may differ."""
    names = [field.name for field in fields(Chart) if field.name not in ("position", "marks", "hash_of")]
    same = all(getattr(before, name) == getattr(after, name) for name in names)
    return same and list(before.states) == list(after.states) and before.hash == after.hash


def _comments(text: str) -> Counter[str]:
    return Counter(line for line in Comments(text).rest() if line)

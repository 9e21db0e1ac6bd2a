"""Replaces tabs that are used as spaces: between a key and its value, before a comment, at the end of a line.

The chart reader accepts them if it uses libyaml; the Python scanner that finds the comments does not.
"""

from __future__ import annotations

import re
from typing import Final

import yaml

from rawko.chart.source.composer import LOADER

_BEFORE_COMMENT: Final = re.compile(r"^[^#\n]*", re.MULTILINE)


def without_tabs(text: str) -> str:
    """The same YAML text with spaces instead of tabs, except in values and comments.

    Raises:
        YAMLError: The text is not YAML.
    """
    if "\t" not in text:
        return text
    parts: list[str] = []
    end = 0
    for token in yaml.scan(text, Loader=LOADER):
        start = token.start_mark.index
        parts += [_spaced(text[end:start]), text[start : token.end_mark.index]]
        end = max(end, token.end_mark.index)
    return "".join((*parts, _spaced(text[end:])))


def _spaced(gap: str) -> str:
    return _BEFORE_COMMENT.sub(lambda found: found[0].replace("\t", " "), gap)

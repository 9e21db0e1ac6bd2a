"""Tabs that stand for spaces: between a key and its value, before a comment, at the end of a line.

The reader of charts takes them, where libyaml does; the scanner that knows all comments does not.
"""

from __future__ import annotations

import re
from typing import Final

import yaml

from rawko.chart.source.composer import LOADER

_BEFORE_COMMENT: Final = re.compile(r"^[^#\n]*", re.MULTILINE)


def without_tabs(text: str) -> str:
    """The same text of YAML with spaces for the tabs that are part of no value and no comment.

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

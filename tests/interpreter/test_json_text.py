"""Parsed text: how many levels of lists and mappings it may have, whatever stands in the innermost one."""

from __future__ import annotations

import pytest

from rawko.interpreter.data.freezing import MAX_DEPTH
from rawko.interpreter.data.json_text import checked_parse
from rawko.interpreter.errors import NotJsonError

AROUND = 15
"""Levels that a snapshot may have around a value of MAX_DEPTH levels."""
INNERMOST = ("[]", "[1]", "{}", '{"a": 1}', '{"a": "[{"}', '["}]"]')
SURROUNDING = (("[", "]"), ('{"a": ', "}"), ('[1, {"b": "x"}, ', "]"), ('{"c": [1], "a": ', ', "b": {}}'))


def nested(levels: int, around: tuple[str, str], innermost: str) -> str:
    before, after = around
    return before * (levels - 1) + innermost + after * (levels - 1)


@pytest.mark.parametrize("innermost", INNERMOST)
@pytest.mark.parametrize("around", SURROUNDING)
def test_a_text_may_have_exactly_so_many_levels(around: tuple[str, str], innermost: str) -> None:
    checked_parse(nested(MAX_DEPTH + AROUND, around, innermost))
    for levels in (MAX_DEPTH + AROUND + 1, MAX_DEPTH + AROUND + 2, 900):
        with pytest.raises(NotJsonError, match="at most 200 levels"):
            checked_parse(nested(levels, around, innermost))


def test_a_long_text_with_many_shallow_parts_is_read() -> None:
    text = "[" + ", ".join('{"role": "user", "content": [{"text": "[[[[{{{{"}]}' for _ in range(500)) + "]"
    assert len(checked_parse(text)) == 500

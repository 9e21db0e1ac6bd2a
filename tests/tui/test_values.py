"""Values as plain data: one line, a block, what has changed; also of values that are large, or hostile."""

from __future__ import annotations

from typing import Any

import pytest

from rawko.tui.drawing import values

CALL = {"call": {"id": "t1", "input": {"command": "ls\n-l"}}, "ok": True, "none": None, "empty": {}, "tries": [1, "1"]}


def test_a_value_in_one_line_reads_as_yaml_and_not_as_python() -> None:
    assert values.flow(CALL, 200) == (
        '{call: {id: t1, input: {command: ls -l}}, ok: true, none: null, empty: {}, tries: [1, "1"]}'
    )
    assert values.flow(CALL, 20) == "{call: {id: t1, inp…"


def test_a_value_as_a_block_is_indented() -> None:
    assert values.block_of([CALL, "x"]) == [
        *("- call:", "    id: t1", "    input:", "      command: ls -l", "  ok: true", "  none: null", "  empty: {}"),
        *("  tries:", "    - 1", '    - "1"', "- x"),
    ]


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        (1, 2, ["f: 1 → 2"]),
        ("", "on", ['f: "" → on']),
        (None, {"a": [1]}, ["f: was null, now", "  a:", "    - 1"]),
        ({"a": [1]}, None, ["f: {a: [1]} → null"]),
        ({"at": 0, "steps": ["a"]}, {"at": 1, "steps": ["a", "b"]}, ["f.at: 0 → 1", "f.steps.1 + b"]),
        (["a", "b"], ["a"], ["f.1 − b"]),
        ({"a": {}}, {"a": {"b": 1}}, ["f.a − {}", "f.a.b + 1"]),
    ],
)
def test_of_a_change_the_places_that_differ_are_told(before: Any, after: Any, lines: list[str]) -> None:
    assert values.changes_of("f", before, after) == lines


def test_no_more_is_read_of_a_large_value_than_is_shown() -> None:
    large = {"text": "x" * 20_000_000, "items": list(range(200_000))}
    assert len(values.flow(large)) == values.FLOW_CHARS
    lines = values.block_of(large)
    assert len(lines) == values.MAX_LINES + 1 and lines[-1] == values.MORE
    [told] = values.changes_of("f", large, {**large, "items": []})
    assert len(told) < 3 * values.FLOW_CHARS
    changed = values.changes_of("f", list(range(100)), list(range(1, 101)))
    assert len(changed) == values.MAX_LINES + 1 and changed[-1] == values.MORE


def test_a_value_that_is_very_deep_is_told_in_one_line_from_there_on() -> None:
    deep: Any = []
    for _ in range(900):
        deep = [deep]
    assert values.block_of(deep) == [f"{'- ' * values.MAX_DEPTH}{'[' * (values.LINE_CHARS - 1)}…"]
    assert len(values.changes_of("f", deep, [1])) == 2


def test_no_control_character_of_a_value_or_a_key_is_shown() -> None:
    evil = {"\x1b[31mkey": ["\x1b]0;owned\x07", "\u202eevil"]}
    for text in (values.flow(evil, 200), *values.block_of(evil), *values.changes_of("f", evil, {"a": 1})):
        assert text.isprintable() and "\u202e" not in text, ascii(text)

"""Long strings leave a JSON value and come back as they were."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rawko.journal.blobs import MIN_CHARS, pack, unpack

TEXTS = st.one_of(st.text(max_size=20), st.text(min_size=1, max_size=3).map(lambda t: t * MIN_CHARS))
KEYS = st.one_of(st.text(max_size=8), st.sampled_from(["$blob", "value"]))
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_any_value_comes_back(value: Any) -> None:
    text, taken = pack(value)
    assert unpack(text, taken.__getitem__) == value


def test_long_text_is_taken_out_once() -> None:
    long = "x" * MIN_CHARS
    text, taken = pack({"a": long, "b": [long, {"c": long}]})
    assert len(taken) == 1
    assert len(text) < 400


def test_half_a_surrogate_pair_survives() -> None:
    value = "\ud800" * MIN_CHARS
    text, taken = pack(value)
    assert unpack(text, taken.__getitem__) == value


def test_a_damaged_blob_is_told() -> None:
    text, taken = pack("x" * MIN_CHARS)
    with pytest.raises(ValueError, match="damaged"):
        unpack(text, lambda digest: taken[digest] + b"y")

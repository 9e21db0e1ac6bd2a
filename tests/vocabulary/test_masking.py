"""Keys in every spelling, across every border of pieces."""

from __future__ import annotations

import base64
import json
from itertools import pairwise
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rawko.vocabulary.masking import Masker, spellings

KEY = "sk/ant+0123=é 4567890abc"
MASKER = Masker({KEY: "ANTHROPIC_API_KEY", "short": "AUTH", "other-secret-value": "TOKEN"})


@pytest.mark.parametrize(
    "told",
    [
        KEY,
        f"ANTHROPIC_API_KEY={KEY}",
        f"https://user:{KEY}@host/x?key={KEY}&y",
        f"https://host/?k={quote(KEY)}",
        f"https://host/?k={quote(KEY, safe='')}",
        f"https://host/?k={quote(KEY, safe='').lower()}",
        f"k={quote_plus(KEY)}",
        json.dumps({"k": KEY}),
        json.dumps({"k": KEY}, ensure_ascii=False),
        f"Authorization: Bearer {KEY}",
        KEY.encode().hex(),
        *(
            base64.b64encode(b"u" * count + KEY.encode() + b"x" * after).decode()
            for count in range(4)
            for after in range(4)
        ),
        *(base64.urlsafe_b64encode(b"u" * count + KEY.encode()).decode() for count in range(4)),
    ],
)
def test_no_spelling_stays(told: str) -> None:
    shown = MASKER.text(f"before {told} after")
    assert "[masked ANTHROPIC_API_KEY]" in shown
    assert not any(spelling in shown for spelling in spellings(KEY))
    assert shown.startswith("before ") and shown.endswith(" after")


def test_short_values_are_words() -> None:
    assert MASKER.text("a short text") == "a short text"
    assert not Masker({"none": "AUTH"})
    assert Masker({}).text("x") == "x"


@given(st.text(), st.text(), st.sampled_from(sorted(spellings(KEY), key=str)), st.lists(st.integers(0, 200)))
def test_a_stream_masks_wherever_it_is_cut(before: str, after: str, told: str, cuts: list[int]) -> None:
    text = f"{before}{told}{after}"
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    stream = MASKER.stream()
    shown = "".join(stream.feed(text[a:b]) for a, b in pairwise(places)) + stream.end()
    assert shown == MASKER.text(text)
    assert told not in shown


def test_what_is_signed_goes_back_as_it_came() -> None:
    block = {"type": "thinking", "thinking": f"x {KEY}", "signature": KEY, KEY: [KEY]}
    masked = "[masked ANTHROPIC_API_KEY]"
    assert MASKER.json(block) == {"type": "thinking", "thinking": f"x {masked}", "signature": KEY, masked: [masked]}

"""Finds characters that look like ASCII but are not, in text that will be executed, so that they do not deceive.

    отчёт.txt   a whole word of another script: unchanged, unless each of its letters looks like a Latin one
    pаssword    a word that mixes scripts: every letter that is not Latin is found (here a Cyrillic "а")

East Asian letters are not found in mixed words, because they are written beside Latin letters every day. The tables
hold characters that fonts draw alike, after Unicode's security mechanisms (UTS 39). They need not be complete for words
that mix scripts.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

_WORD: Final = re.compile(r"\w+")

_LETTERS: Final = frozenset(
    "АВСЕНІЈКМОРЅТУХҮԌԜѴЬӀаеорсухіјѕһԁԛԝѵкгьӏүѡ"  # Cyrillic
    "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹϺϳϲοναιρυκτχγωϱ"  # Greek
    "օսոհցքզյլւՕՍՏԼՈ"  # Armenian
    "ıȷƅƽǀǃƨȡƄƖƷȢꞁꜱꝛĸ"  # Latin letters that everyday text of no language uses
)
"""Letters that look like Latin ones; found only in words that consist of such letters."""

_SMALL: Final = (range(0x250, 0x2B0), range(0x2B0, 0x300), range(0x1D00, 0x1DC0), range(0xA720, 0xA800))
"""Phonetic and modifier letters: variants of Latin ones that occur in no word that people type."""

_IMITATIONS: Final = ("CHEROKEE", "LISU", "COPTIC", "DESERET", "OLD ITALIC", "GOTHIC", "CARIAN", "LYCIAN", "LYDIAN",
                      "WARANG", "OSAGE", "ELBASAN", "VAI", "BAMUM", "RUNIC", "OGHAM")  # fmt: skip
"""Scripts with letters of Latin shapes that occur in no command."""

_MARKS: Final = frozenset(
    "\u2010\u2011\u2012\u2013\u2014\u2015\u2043\u2212\u02d7\ufe58\u06d4\u2cba"  # -
    "\u2018\u2019\u201a\u201b\u2032\u2035\u02b9\u02bb\u02bc\u02bd\u02c8\u00b4\u1fbf\u1fef\u1ffd\u055a\ua78c"  # '
    "\u201c\u201d\u201e\u201f\u2033\u2036\u02ba\u02dd\u02ee\u05f4\u3003"  # "
    "\u2044\u2215\u2571\u29f8\u2cc6\u3033\u2041\u1735"  # /
    "\u2216\u29f5\u29f9\u2572\ufe68"  # \
    "\u037e\u0589\u05c3\u02d0\u02f8\u0703\u0704\u1361\u16ec\u205a\u2236\ua789\ufe30"  # ; :
    "\u2024\u0701\u0702\ua60e\U00010a50"  # .
    "\u201a\u060d\u066b\u02ce\ua4f9"  # ,
    "\u2223\u2758\u01c0\u23fd\u05c0\u2d4f\u2502\u2503\uffe8\u00a6"  # |
    "\u2217\u066d\u204e\U0001031f\u2055\u2731\ufe61"  # *
    "\u2039\u276e\u02c2\u27e8\u2329\u3008\u203a\u276f\u02c3\u27e9\u232a\u3009\u1433\u1438"  # < >
    "\ua4ff\u2e40\u30a0\u1400\u2550"  # =
    "\u2768\u2772\u3014\u2769\u2773\u3015\ufd3e\ufd3f\u2774\u2775\u2045\u2046"  # ( ) { } [ ]
    "\u02c6\u02dc\u223c\u2053\u1fc0\u02c4\u2038"  # ~ ^
    "\ua7f7\u2573\u292b\u292c"  # x
    "\u01c3\u2d51\u2757\u2762\u0294\u097d\u09e0"  # ! ?
    "\uff04\u266f\ufe5f\u2030\u066a\u214b\ua778\ufe60\ufe6b"  # $ # % & @
)
"""Punctuation that looks like a character with a meaning in the shell, or like a quote around one."""


_STROKES: Final = frozenset("一ー丨丶丿ノ口ロ〇ニ工")
"""East Asian letters that look like a mark or letter when they stand next to ASCII."""


def look_alikes(text: str) -> frozenset[int]:
    """Offsets of the characters that look like ASCII ones."""
    if text.isascii():
        return frozenset()
    found = {offset for offset, char in enumerate(text) if not char.isascii() and _passes_alone(char)}
    for word in _WORD.finditer(text):
        if not word[0].isascii():
            found.update(word.start() + offset for offset in _in_word(word[0]))
    return frozenset(found)


@lru_cache(maxsize=4096)
def _passes_alone(char: str) -> bool:
    """Whether a character looks like ASCII in any context."""
    if char in _MARKS or any(ord(char) in one for one in _SMALL):
        return True
    plain = unicodedata.normalize("NFKC", char)
    if plain != char and plain.isascii() and (len(plain) == 1 or plain.isalpha()):  # full width, mathematical, no-break
        return True
    if unicodedata.category(char) == "Zs":
        return True
    return unicodedata.name(char, "").startswith(_IMITATIONS)


def _in_word(word: str) -> set[int]:
    letters = {offset: char for offset, char in enumerate(word) if char.isalpha()}
    found = {offset for offset, char in letters.items() if char in _LETTERS and _is_latin(char)}
    if any(char.isascii() for char in letters.values()):  # letters of two scripts in one word
        found.update(offset for offset, char in letters.items() if not _is_latin(char) and not _is_east_asian(char))
    elif all(char in _LETTERS for char in letters.values()):
        found.update(letters)
    beside = {offset for offset, char in enumerate(word) if char in _STROKES and _touches_ascii(word, offset)}
    return found | beside


def _touches_ascii(word: str, offset: int) -> bool:
    return any(char.isascii() for char in word[max(offset - 1, 0) : offset] + word[offset + 1 : offset + 2])


@lru_cache(maxsize=4096)
def _is_east_asian(char: str) -> bool:
    """Whether a character is East Asian: written beside Latin letters; only those in `_STROKES` can be mistaken."""
    return unicodedata.name(char, "").startswith(("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO", "IDEOGRAPHIC"))


@lru_cache(maxsize=4096)
def _is_latin(char: str) -> bool:
    return char.isascii() or unicodedata.name(char, "").startswith("LATIN ")

"""Times, tokens and money as short texts for people."""

from __future__ import annotations

import re
from typing import Final

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
_UNITS: Final = ((365 * _DAY, "y"), (30 * _DAY, "mo"), (7 * _DAY, "w"), (_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min"))
_AGE: Final = re.compile(r"(\d{1,9})([mhdw])")
_SECONDS: Final = {"m": _MINUTE, "h": _HOUR, "d": _DAY, "w": 7 * _DAY}


def duration(seconds: float | None) -> str:
    """A duration.

    >>> [duration(one) for one in (None, 0.04, 4.25, 65, 3723, 90_000)]
    ['', '0.0s', '4.2s', '1:05', '1:02:03', '25:00:00']
    """
    if seconds is None:
        return ""
    if seconds < _MINUTE - 0.05:
        return f"{max(seconds, 0.0):.1f}s"
    whole = round(seconds)
    hours, rest = divmod(whole, _HOUR)
    minutes, left = divmod(rest, _MINUTE)
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02}"


def age(seconds: float | None) -> str:
    """A time ago, in one unit.

    >>> [age(one) for one in (None, 3, 59, 61, 7200, 86_400 * 9)]
    ['', 'now', '59s', '1min', '2h', '1w']
    """
    if seconds is None:
        return ""
    if seconds < 5:
        return "now"
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{int(seconds // size)}{unit}"
    return f"{int(seconds)}s"


def seconds_of(age: str) -> float | None:
    """The seconds of an age that a person gives; None if it is none.

    >>> [seconds_of(one) for one in ("90m", "12h", "30d", "8w", "30", "soon")]
    [5400.0, 43200.0, 2592000.0, 4838400.0, None, None]
    """
    found = _AGE.fullmatch(age.strip())
    return None if found is None else float(int(found[1]) * _SECONDS[found[2]])


def tokens(count: int) -> str:
    """A number of tokens.

    >>> [tokens(one) for one in (0, 812, 5_367, 17_331, 999_960, 2_400_000)]
    ['0', '812', '5.4k', '17k', '1.0M', '2.4M']
    """
    if count < 1000:
        return str(count)
    thousands = count / 1000
    if thousands < 9.95:
        return f"{thousands:.1f}k"
    if thousands < 999.5:
        return f"{thousands:.0f}k"
    return f"{thousands / 1000:.1f}M"


def in_and_out(sent: int, received: int) -> str:
    """Tokens sent and received, as "5.4k/812"; "" where none were used."""
    return f"{tokens(sent)}/{tokens(received)}" if sent or received else ""


def money(usd: float | None) -> str:
    """US dollars; "" for None.

    >>> [money(one) for one in (None, 0.0, 0.00315, 0.42, 12.5)]
    ['', '$0.0000', '$0.0032', '$0.42', '$12.50']
    """
    if usd is None:
        return ""
    return f"${usd:.4f}" if usd < 0.1 else f"${usd:.2f}"

"""Finds the recorded answer to a request: by content, in the order of recording, each answer once. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import islice

from rawko.providers.cassette.cleaning import Cleaner
from rawko.providers.cassette.file import Cassette, Exchange
from rawko.providers.cassette.requests import MAX_DIFF_LINES, Asked, Request, difference, normalised
from rawko.providers.failures import provider_error
from rawko.runtime.ports import ProviderError


class Tape:
    """A cassette being played.

    Equal requests (a call and its retry) get their answers in the order of recording; different requests may come in
    any order, as parallel calls do. An exact match takes precedence over one that differs in dates, durations,
    temporary names and other varying values.

    Args:
        position: The `position` of an earlier tape; answers that it gave are not given again.

    Raises:
        ValueError: `position` does not belong to this cassette.
    """

    def __init__(self, cassette: Cassette, cleaner: Cleaner, *, position: str = "") -> None:
        self._cassette, self.cleaner = cassette, cleaner
        self._taken = set(numbers_of(position))
        if self._taken and max(self._taken) > len(cassette.exchanges):
            raise ValueError(f"exchange {max(self._taken)} was taken; the cassette has {len(cassette.exchanges)}")

    def take(self, body: Request) -> Exchange:
        """The exchange with the answer to a request.

        Raises:
            ProviderError: No answer was recorded, or all are taken (code "scenario"); the message has the differences.
        """
        asked = Asked(self.cleaner.clean_json(normalised(body)))
        number = self._first(self._exact.get(asked.key)) or self._first(self._alike.get(asked.loose_key))
        if number is None:
            raise self._miss(asked)
        self._taken.add(number)
        return self._cassette.exchanges[number - 1]

    def position(self) -> str:
        """Numbers of the exchanges taken so far, as ranges: "1-17,19"."""
        return ranges_of(self._taken)

    def unused(self) -> tuple[str, ...]:
        """Exchanges that no request took."""
        left = (exchange.number for exchange in self._cassette.exchanges if exchange.number not in self._taken)
        return tuple(f"{self._cassette.path}: exchange {number}" for number in left)

    @cached_property
    def _exact(self) -> Mapping[str, list[int]]:
        return _grouped((exchange.asked.key, exchange.number) for exchange in self._cassette.exchanges)

    @cached_property
    def _alike(self) -> Mapping[str, list[int]]:
        return _grouped((exchange.asked.loose_key, exchange.number) for exchange in self._cassette.exchanges)

    def _first(self, numbers: Iterable[int] | None) -> int | None:
        """The first of these exchanges that is not taken."""
        return next((number for number in numbers or () if number not in self._taken), None)

    # ------------------------------------------------------------ misses

    def _miss(self, asked: Asked) -> ProviderError:
        path, count = self._cassette.path, len(self._cassette.exchanges)
        lines = [f"the cassette {path} has no answer to this request (message {len(asked.marks)} of its conversation)"]
        if self._cassette.is_cut:
            lines.append(f"its recording was interrupted: the text after exchange {count} is incomplete")
        nearest = self._nearest(asked)
        if nearest is None:
            lines.append("it holds no exchange at all" if not count else "nothing that it holds is like it")
            return provider_error("\n".join(lines), "scenario")
        found = list(islice(difference(nearest.asked, asked), MAX_DIFF_LINES + 1))
        if not found:
            lines.append(f"exchange {nearest.number} is this very request, but its answer is taken already")
            return provider_error("\n".join(lines), "scenario")
        taken = ", whose answer is taken already" if nearest.number in self._taken else ""
        lines.append(f"the nearest is exchange {nearest.number}{taken}; - is recorded, + is asked now:")
        lines += found[:MAX_DIFF_LINES]
        if len(found) > MAX_DIFF_LINES:
            lines.append("… and more")
        return provider_error("\n".join(lines), "scenario")

    def _nearest(self, asked: Asked) -> Exchange | None:
        """The exchange with the longest common beginning; among equals one that is not taken, then the earliest."""

        def rank(exchange: Exchange) -> tuple[int, int, int, bool, int]:
            messages, fields = asked.shares(exchange.asked)
            surplus = abs(len(exchange.asked.marks) - len(asked.marks))
            return messages, fields, -surplus, exchange.number not in self._taken, -exchange.number

        return max(self._cassette.exchanges, key=rank, default=None)


def _grouped(keyed: Iterable[tuple[str, int]]) -> Mapping[str, list[int]]:
    groups = defaultdict[str, list[int]](list)
    for key, number in keyed:
        groups[key].append(number)
    return dict(groups)


def ranges_of(numbers: Iterable[int]) -> str:
    """Numbers as ranges ("1-17,19"), so that a run's notes stay short."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def numbers_of(ranges: str) -> Iterator[int]:
    """The numbers in the result of `ranges_of`.

    Raises:
        ValueError: The text does not have this form.
    """
    for part in filter(None, ranges.split(",")):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def position_of(notes: Mapping[str, object] | None) -> str:
    """The position in a provider's notes; "" without notes.

    Raises:
        ValueError: The notes are not those of a cassette.
    """
    if notes is None:
        return ""
    taken = notes.get("taken")
    if not isinstance(taken, str):
        raise ValueError(f"{notes!r} is no position in a cassette")
    return taken

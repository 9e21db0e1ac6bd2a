"""The numbered stream: a page that joins again misses nothing, or is told to ask for everything."""

from __future__ import annotations

import json
from contextlib import aclosing
from typing import Any

from rawko.web.feed import Feed


async def joined(feed: Feed, after: int, wanted: int) -> list[dict[str, Any]]:
    """The first events that a page gets which has seen a number of this start, and then leaves."""
    told: list[dict[str, Any]] = []
    async with aclosing(feed.lines(feed.start, after)) as lines:  # type: ignore[type-var]  # a generator has aclose
        async for line in lines:
            if "data: " in line:
                told.append(json.loads(line.partition("data: ")[2]))
            if len(told) == wanted:
                break
    return told


async def test_events_between_two_connections_are_told_at_the_second() -> None:
    feed = Feed()
    feed.publish("run", run="a")
    assert [one["run"] for one in await joined(feed, 0, 1)] == ["a"]
    assert feed.is_read, "another tab takes over, or the page connects again"
    feed.publish("gone", run="a")
    assert [one["type"] for one in await joined(feed, 1, 1)] == ["gone"]


async def test_a_page_that_comes_back_after_a_rest_asks_for_everything() -> None:
    feed = Feed(linger_s=0)
    feed.publish("run", run="a")
    await joined(feed, 0, 1)
    assert not feed.is_read
    feed.rest()
    feed.rest()
    (told,) = await joined(feed, 1, 1)
    assert (told["type"], told["n"]) == ("reset", feed.last)
    feed.publish("run", run="b")
    assert [one["run"] for one in await joined(feed, told["n"], 1)] == ["b"]


async def test_a_number_of_another_start_or_of_an_event_that_is_not_kept_is_reset() -> None:
    feed = Feed()
    for number in range(5_000):
        feed.publish("run", run=str(number))
    assert [one["type"] for one in await joined(feed, 3, 1)] == ["reset"]
    assert [one["type"] for one in await joined(feed, feed.last + 1, 1)] == ["reset"]
    assert [one["run"] for one in await joined(feed, feed.last - 2, 2)] == ["4998", "4999"]

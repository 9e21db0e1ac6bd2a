"""Places of items in a list, compared with tops that are counted one by one."""

from __future__ import annotations

import random

from rawko.tui.widgets.places import Places


def test_places_are_those_that_counting_gives() -> None:
    chance = random.Random(7)
    for _ in range(60):
        heights = [chance.choice((1, 1, 1, 2, 5)) for _ in range(chance.randint(1, 30))]
        places = Places()
        places.place(0, len(heights), enumerate(heights))
        for _ in range(3):  # an item in the middle gets higher or lower, and some are added
            start = chance.randrange(len(heights))
            heights[start] = chance.randint(1, 4)
            heights += [1] * chance.randint(0, 2)
            places.place(start, len(heights), ((index, heights[index]) for index in range(start, len(heights))))
            owners = [index for index, height in enumerate(heights) for _ in range(height)]
            assert places.height == len(owners)
            assert [places.at(line) for line in range(len(owners))] == owners
            assert [places.top(index) for index in range(len(heights))] == [
                owners.index(n) for n in range(len(heights))
            ]
            assert [places.lines(index) for index in range(len(heights))] == heights
            assert places.at(len(owners) + 3) == len(heights) - 1


def test_an_empty_list_has_no_lines() -> None:
    places = Places()
    places.place(0, 0, ())
    assert (places.height, places.at(0), places.top(0)) == (0, 0, 0)

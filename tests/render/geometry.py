"""What can be wrong with a placed diagram, told as sentences. An empty list means that it is sound."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from math import hypot

from rawko.chart import Chart
from rawko.render.placing.layout import Point, Rect
from rawko.render.placing.scene import PlacedArrow, PlacedBox, Scene

CLOSE = 0.6
ROUND = ("initial", "shallow history", "deep history")
Segment = tuple[Point, Point]


def defects(scene: Scene) -> list[str]:
    """Everything that is wrong with the places of a scene."""
    checks = (_clipped, _boxes, _labels, _texts, _lines_over_boxes, _ends, _tracks)
    return [defect for check in checks for defect in check(scene)]


def undrawn(scene: Scene, chart: Chart) -> list[str]:
    """Ways of the chart that are not drawn exactly once: (transition, target), and targetless transitions."""
    drawn: Counter[tuple[int, str]] = Counter()
    for arrow in scene.diagram.arrows:
        target = scene.diagram.by_id[arrow.target].state
        source = scene.diagram.by_id[arrow.source].state
        for entry in arrow.entries:
            if entry.transition is not None:
                drawn[entry.transition, target] += 1
                if source != chart.transitions[entry.transition].source:
                    drawn[entry.transition, f"from {source}"] += 1
    for box in scene.diagram.boxes:
        for row in box.rows:
            if row.transition is not None:
                drawn[row.transition, box.state if chart.transitions[row.transition].targets else ""] += 1
    wanted = Counter((each.index, target) for each in chart.transitions for target in each.targets or ("",))
    return [f"drawn {count} times: {key}" for key, count in (drawn - wanted).items()] + [
        f"not drawn: {key}" for key in wanted - drawn
    ]


def _clipped(scene: Scene) -> Iterator[str]:
    paper = Rect(0, 0, scene.width, scene.height)
    for name, rect in _all_rects(scene):
        if not _holds(paper, rect):
            yield f"clipped: {name}"
    for placed in scene.arrows:
        for x, y in _points(placed):
            if not (0 <= x <= scene.width and 0 <= y <= scene.height):
                yield f"clipped: line {placed.arrow.id}"


def _all_rects(scene: Scene) -> Iterator[tuple[str, Rect]]:
    for placed in scene.boxes:
        yield placed.box.id, placed.rect
        for text in placed.texts:
            yield f"text of {placed.box.id}", text.rect
    for arrow in scene.arrows:
        if arrow.text is not None:
            yield f"label {arrow.arrow.id}", arrow.text.rect


def _boxes(scene: Scene) -> Iterator[str]:
    rects = {placed.box.id: placed.rect for placed in scene.boxes}
    for placed in scene.boxes:
        if placed.box.parent is not None and not _holds(rects[placed.box.parent], placed.rect):
            yield f"{placed.box.id} is not inside {placed.box.parent}"
    for boxes in scene.diagram.children.values():
        for one, other in combinations(boxes, 2):
            if _overlap(rects[one.id], rects[other.id]):
                yield f"{one.id} and {other.id} overlap"


def _labels(scene: Scene) -> Iterator[str]:
    labels = [(placed.arrow.id, placed.text.rect) for placed in scene.arrows if placed.text is not None]
    for (one, first), (other, second) in combinations(labels, 2):
        if _overlap(first, second):
            yield f"labels {one} and {other} overlap"
    for placed in scene.arrows:
        if placed.text is None:
            continue
        rect = placed.text.rect
        homes = _homes(scene, placed)
        for each in scene.boxes:
            if each.box.id in homes:
                if not _holds(each.rect, rect):
                    yield f"label {placed.arrow.id} is not inside {each.box.id}"
            elif _overlap(each.rect, rect):
                yield f"label {placed.arrow.id} is over {each.box.id}"
        for line in scene.arrows:
            if any(_crosses(segment, rect) for segment in _segments(line)):
                yield f"label {placed.arrow.id} is over the line {line.arrow.id}"


def _homes(scene: Scene, placed: PlacedArrow) -> set[str]:
    """Containers that hold both ends of an arrow, an end that holds the other one included."""
    by_id = scene.diagram.by_id
    both = []
    for end in (placed.arrow.source, placed.arrow.target):
        chain = [end] if end in scene.diagram.children else []
        parent = by_id[end].parent
        while parent is not None:
            chain.append(parent)
            parent = by_id[parent].parent
        both.append(set(chain))
    return both[0] & both[1]


def _texts(scene: Scene) -> Iterator[str]:
    for placed in scene.boxes:
        for text in placed.texts:
            if not _holds(placed.rect, text.rect):
                yield f"text of {placed.box.id} stands out of it"
            for each in scene.arrows:
                if placed.is_container and any(_crosses(segment, text.rect) for segment in _segments(each)):
                    yield f"line {each.arrow.id} runs over a text of {placed.box.id}"
        for one, other in combinations(placed.texts, 2):
            if _overlap(one.rect, other.rect):
                yield f"texts of {placed.box.id} overlap"
    for arrow in scene.arrows:
        if arrow.text is not None:
            for run in arrow.text.runs:
                if run.x + run.run.width > arrow.text.rect.right + CLOSE:
                    yield f"a text of {arrow.arrow.id} is wider than its label"


def _lines_over_boxes(scene: Scene) -> Iterator[str]:
    for placed in scene.boxes:
        if not placed.is_container:
            for arrow in scene.arrows:
                if any(_crosses(segment, _solid(placed)) for segment in _segments(arrow)):
                    yield f"line {arrow.arrow.id} runs over {placed.box.id}"
    for placed in scene.boxes:
        if placed.is_container:
            strangers = (each for each in scene.arrows if placed.box.id not in _around(scene, each))
            for arrow in strangers:
                if any(_crosses(segment, placed.rect) for segment in _segments(arrow)):
                    yield f"line {arrow.arrow.id} runs through {placed.box.id}"


def _solid(placed: PlacedBox) -> Rect:
    """What no line may run over: the box, or a square inside the circle."""
    rect = placed.rect
    inset = 0.15 * rect.width if placed.box.kind in ROUND else 0.0
    return Rect(rect.x + inset, rect.y + inset, rect.width - 2 * inset, rect.height - 2 * inset)


def _around(scene: Scene, placed: PlacedArrow) -> set[str]:
    """Containers that hold one end of an arrow or both."""
    found: set[str] = set()
    for end in (placed.arrow.source, placed.arrow.target):
        parent = scene.diagram.by_id[end].parent
        while parent is not None:
            found.add(parent)
            parent = scene.diagram.by_id[parent].parent
    return found


def _ends(scene: Scene) -> Iterator[str]:
    rects = {placed.box.id: placed for placed in scene.boxes}
    for placed in scene.arrows:
        parts, label = placed.route.parts, placed.route.label
        if not _is_on_border(parts[0][0], rects[placed.arrow.source]):
            yield f"line {placed.arrow.id} does not begin at {placed.arrow.source}"
        if not _is_on_border(parts[-1][-1], rects[placed.arrow.target]):
            yield f"line {placed.arrow.id} does not end at {placed.arrow.target}"
        if label is not None and not _meets(parts, label):
            yield f"line {placed.arrow.id} does not meet its label"
        for part in parts:
            if len(part) < 2 or any(x1 != x2 and y1 != y2 for (x1, y1), (x2, y2) in pairwise(part)):
                yield f"line {placed.arrow.id} is oblique or empty"


def _meets(parts: Sequence[Sequence[Point]], label: Rect) -> bool:
    """Whether a line is interrupted by its label; one back to its own box passes along it in one piece."""
    if len(parts) == 1:
        return any(_is_on(one, label) and _is_on(other, label) for one, other in pairwise(parts[0]))
    return _is_on(parts[0][-1], label) and _is_on(parts[1][0], label)


def _tracks(scene: Scene) -> Iterator[str]:
    """No two lines lie upon each other, and none lies upon a border."""
    segments = [(placed.arrow.id, segment) for placed in scene.arrows for segment in _segments(placed)]
    for (one, first), (other, second) in combinations(segments, 2):
        if one != other and _lie_together(first, second):
            yield f"lines {one} and {other} lie upon each other"
    for name, segment in segments:
        for placed in scene.boxes:
            if placed.box.kind not in ROUND and any(_lie_together(segment, side) for side in _sides(placed.rect)):
                yield f"line {name} lies upon the border of {placed.box.id}"


# ---------------------------------------------------------------- plane geometry


def _points(placed: PlacedArrow) -> list[Point]:
    return [point for part in placed.route.parts for point in part]


def _segments(placed: PlacedArrow) -> list[Segment]:
    return [segment for part in placed.route.parts for segment in pairwise(part)]


def _sides(rect: Rect) -> Sequence[Segment]:
    corners = ((rect.x, rect.y), (rect.right, rect.y), (rect.right, rect.bottom), (rect.x, rect.bottom))
    return [(one, other) for one, other in zip(corners, (*corners[1:], corners[0]), strict=True)]


def _holds(outer: Rect, inner: Rect) -> bool:
    return (
        outer.x <= inner.x + CLOSE
        and outer.y <= inner.y + CLOSE
        and inner.right <= outer.right + CLOSE
        and inner.bottom <= outer.bottom + CLOSE
    )


def _overlap(one: Rect, other: Rect) -> bool:
    return (
        one.x + CLOSE < other.right
        and other.x + CLOSE < one.right
        and one.y + CLOSE < other.bottom
        and other.y + CLOSE < one.bottom
    )


def _crosses(segment: Segment, rect: Rect) -> bool:
    (x1, y1), (x2, y2) = segment
    return (
        max(x1, x2) > rect.x + CLOSE
        and min(x1, x2) < rect.right - CLOSE
        and max(y1, y2) > rect.y + CLOSE
        and min(y1, y2) < rect.bottom - CLOSE
    )


def _lie_together(one: Segment, other: Segment) -> bool:
    for axis in (0, 1):
        ends = [point[axis] for point in (*one, *other)]
        if max(ends) - min(ends) < 1.5:
            along = 1 - axis
            start = max(min(p[along] for p in one), min(p[along] for p in other))
            end = min(max(p[along] for p in one), max(p[along] for p in other))
            if end - start > 2.0:
                return True
    return False


def _is_on(point: Point, rect: Rect) -> bool:
    x, y = point
    is_near = rect.x - CLOSE <= x <= rect.right + CLOSE and rect.y - CLOSE <= y <= rect.bottom + CLOSE
    return is_near and (
        min(abs(x - rect.x), abs(x - rect.right)) <= CLOSE or min(abs(y - rect.y), abs(y - rect.bottom)) <= CLOSE
    )


def _is_on_border(point: Point, placed: PlacedBox) -> bool:
    if placed.box.kind in ROUND:
        (x, y), radius = placed.rect.centre, placed.rect.width / 2
        return abs(hypot(point[0] - x, point[1] - y) - radius) <= CLOSE
    return _is_on(point, placed.rect)

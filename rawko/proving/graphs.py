"""Graphs of states as arrays of edges: what leads to a set, cycles, shortest ways. Nothing here knows charts."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence


def successors(count: int, edges: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Targets by source."""
    found: list[list[int]] = [[] for _ in range(count)]
    for source, target in edges:
        found[source].append(target)
    return found


def leading_to(count: int, edges: Iterable[tuple[int, int]], goals: Iterable[int]) -> bytearray:
    """For each number 1 if some way leads from it to a goal, goals included."""
    backward = successors(count, ((target, source) for source, target in edges))
    return reached_from(backward, goals)


def reached_from(forward: Sequence[Sequence[int]], starts: Iterable[int]) -> bytearray:
    """For each number 1 if some way leads to it from a start, starts included."""
    found = bytearray(len(forward))
    stack = list(starts)
    for start in stack:
        found[start] = 1
    while stack:
        for target in forward[stack.pop()]:
            if not found[target]:
                found[target] = 1
                stack.append(target)
    return found


def on_cycles(count: int, edges: Sequence[tuple[int, int]]) -> bytearray:
    """For each number 1 if it lies on a cycle or between two: what is left when all without a successor, then all
    without a predecessor, are taken away again and again (0 -> 1 -> 1 -> 2: only 1 is left)."""
    forward = successors(count, edges)
    backward = successors(count, ((target, source) for source, target in edges))
    alive = bytearray(b"\x01" * count)
    for there, back in ((forward, backward), (backward, forward)):
        degree = [sum(alive[t] for t in there[n]) for n in range(count)]
        gone = deque(n for n in range(count) if alive[n] and not degree[n])
        while gone:
            number = gone.popleft()
            alive[number] = 0
            for other in back[number]:
                degree[other] -= 1
                if alive[other] and degree[other] == 0:
                    gone.append(other)
    return alive


def shortest_cycle(forward: Sequence[Sequence[int]], start: int) -> list[int] | None:
    """Numbers of a shortest cycle through `start`, which comes first and is not repeated; None: there is none."""
    before: dict[int, int] = {}
    waiting = deque([start])
    while waiting:
        number = waiting.popleft()
        for target in forward[number]:
            if target == start:
                found = [number]
                while found[-1] != start:
                    found.append(before[found[-1]])
                return found[::-1]
            if target not in before:
                before[target] = number
                waiting.append(target)
    return None


def components(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """For each number the set of numbers that lead to each other to which it belongs, as a number of that set.

    Tarjan's algorithm with a stack of its own: 0 -> 1 -> 0 and 1 -> 2 give [1, 1, 0].
    """
    forward = successors(count, edges)
    order = [-1] * count
    low = [0] * count
    found = [-1] * count
    stack: list[int] = []
    counter = sets = 0
    for root in range(count):
        if order[root] >= 0 or not forward[root]:
            continue
        work = [(root, 0)]
        while work:
            number, place = work.pop()
            if place == 0:
                order[number] = low[number] = counter
                counter += 1
                stack.append(number)
            targets = forward[number]
            while place < len(targets):
                target = targets[place]
                place += 1
                if order[target] < 0:
                    work += [(number, place), (target, 0)]
                    break
                if found[target] < 0:
                    low[number] = min(low[number], order[target])
            else:
                if low[number] == order[number]:
                    while True:
                        member = stack.pop()
                        found[member] = sets
                        if member == number:
                            break
                    sets += 1
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[number])
    for number in range(count):  # those without any edge
        if found[number] < 0:
            found[number] = sets
            sets += 1
    return found

"""The scripted provider: answers from a scenario. Only the model's replies are scripted; tools and files are real.

Each request takes the next reply of its purpose when the call starts. `scenario_file` reads scenarios.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rawko.providers.failures import provider_error
from rawko.providers.scripted.expectations import SeenConversation, abridged, message_text, unmet, unsendable
from rawko.providers.scripted.scenario import Reply, Scenario
from rawko.providers.scripted.turn import deltas, scripted_failure, turn_done
from rawko.runtime.ports import ModelRequest, ProviderError, StreamEvent, TurnDone

Sleep = Callable[[float], Awaitable[object]]


class ScriptedProvider:
    """A Provider that answers from a scenario.

    Args:
        scenario: See `scenario_file.load_scenario`.
        position: The `position()` of an earlier provider; replies that it gave are not given again.
        lane: Name of the run's lane; the lane's own replies ("a/agent:developer") take precedence.
        sleep: Sleeps for seconds; tests pass a simulated clock's.

    Raises:
        ValueError: `position` does not belong to this scenario.
    """

    name = "scripted"

    def __init__(
        self,
        scenario: Scenario,
        *,
        position: Mapping[str, Any] | None = None,
        lane: str = "",
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._scenario = scenario
        self._sleep = sleep
        self._lane = lane
        self._queues = _queues(scenario)
        self._taken: Counter[str] = Counter()
        self._seen: defaultdict[str, SeenConversation] = defaultdict(SeenConversation)
        if position is not None:
            self._taken.update(_checked(position, scenario, self._queues))

    def position(self) -> dict[str, Any]:
        """The replies taken so far, as JSON: `{"scenario": name, "taken": {purpose: replies}}`."""
        return {"scenario": self._scenario.name, "taken": dict(sorted(self._taken.items()))}

    def unused(self) -> tuple[str, ...]:
        """Replies that no request took, in the file's order: "file:line: reply N for 'purpose'"."""
        left = {index for purpose, queue in self._queues.items() for index in queue[self._taken[purpose] :]}
        return tuple(self._where(index) for index in sorted(left))

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        """Yield deltas word by word, then the reply's end."""
        reply, call_prefix, chars = self._take(request)
        await self._wait(reply, request)
        for delta in deltas(reply):
            yield delta
            await asyncio.sleep(0)
        yield self._end(reply, request, chars, call_prefix)

    async def create(self, request: ModelRequest) -> TurnDone:
        """The whole reply."""
        reply, call_prefix, chars = self._take(request)
        await self._wait(reply, request)
        return self._end(reply, request, chars, call_prefix)

    async def aclose(self) -> None:
        """Does nothing: there is nothing to close."""

    def _end(self, reply: Reply, request: ModelRequest, chars: int, call_prefix: str) -> TurnDone:
        if reply.error is not None:
            raise scripted_failure(reply, reply.error)
        return turn_done(reply, request, chars, model=self._scenario.doc.model, call_prefix=call_prefix)

    async def _wait(self, reply: Reply, request: ModelRequest) -> None:
        timeout_ms = request.timeout_ms
        if timeout_ms is None or reply.delay <= timeout_ms:
            if reply.delay:
                await self._sleep(reply.delay / 1000)
            return
        await self._sleep(timeout_ms / 1000)
        raise provider_error(f"no answer within {timeout_ms} ms", "timeout")

    def _in_lane(self, request: ModelRequest) -> ModelRequest:
        """The request with the lane's purpose, if the scenario has replies for it."""
        own = f"{self._lane}/{request.purpose}"
        return replace(request, purpose=own) if self._lane and own in self._queues else request

    def _take(self, request: ModelRequest) -> tuple[Reply, str, int]:
        """The next reply, the prefix of its tool-call ids, and the number of characters in the request's messages. A
        reply whose `expect` does not hold is not taken."""
        request = self._in_lane(request)
        seen = self._seen[request.purpose]
        if complaint := unsendable(request, seen):
            raise provider_error(complaint, "invalid_request", status=400)
        index = self._next(request)
        reply = self._scenario.doc.replies[index]
        if lacks := list(unmet(reply.expect, request)):
            raise self._unforeseen(request, f"{self._where(index)} expects {' and '.join(lacks)}")
        self._taken[request.purpose] += 1
        agent = request.purpose.rpartition("agent:")[2]
        return reply, f"toolu_{agent}_{self._taken[request.purpose]}", seen.chars

    def _next(self, request: ModelRequest) -> int:
        purpose = request.purpose
        queue = self._queues.get(purpose, ())
        if self._scenario.doc.order == "strict":
            return self._next_in_order(request)
        if self._taken[purpose] < len(queue):
            return queue[self._taken[purpose]]
        problem = f"all {len(queue)} replies for {purpose!r} are taken" if queue else f"no reply is for {purpose!r}"
        raise self._unforeseen(request, f"{problem}; {self._what_is_left()}")

    def _next_in_order(self, request: ModelRequest) -> int:
        order = _in_order(self._scenario)
        done = self._taken.total()
        if done == len(order):
            raise self._unforeseen(request, f"all {done} replies are taken")
        index = order[done]
        if self._scenario.doc.replies[index].purpose != request.purpose:
            raise self._unforeseen(request, f"the order is strict and next comes {self._where(index)}")
        return index

    def _what_is_left(self) -> str:
        waiting = [
            self._where(queue[self._taken[purpose]])
            for purpose, queue in self._queues.items()
            if self._taken[purpose] < len(queue)
        ]
        return f"next are {'; '.join(waiting)}" if waiting else "no replies are left"

    def _unforeseen(self, request: ModelRequest, problem: str) -> ProviderError:
        last = request.messages[-1]
        return provider_error(
            f"scenario {self._scenario.name!r} does not foresee this request for {request.purpose!r}: {problem}. "
            f"Last message ({last.role}): {abridged(message_text(last))!r}",
            "scenario",
        )

    def _where(self, index: int) -> str:
        scenario = self._scenario
        purpose = scenario.doc.replies[index].purpose
        return f"{scenario.source}:{scenario.lines[index]}: reply {index + 1} for {purpose!r}"


def _in_order(scenario: Scenario) -> tuple[int, ...]:
    """Indices of replies in the file's order, each as often as its `times`."""
    return tuple(index for index, reply in enumerate(scenario.doc.replies) for _ in range(reply.times))


def _queues(scenario: Scenario) -> dict[str, Sequence[int]]:
    queues: dict[str, list[int]] = {}
    for index in _in_order(scenario):
        queues.setdefault(scenario.doc.replies[index].purpose, []).append(index)
    return dict(queues)


def _checked(position: Mapping[str, Any], scenario: Scenario, queues: Mapping[str, Sequence[int]]) -> dict[str, int]:
    if position.get("scenario") != scenario.name:
        raise ValueError(f"position is of scenario {position.get('scenario')!r}, not of {scenario.name!r}")
    taken: dict[str, int] = dict(position["taken"])
    for purpose, count in taken.items():
        available = len(queues.get(purpose, ()))
        if not 0 <= count <= available:
            raise ValueError(f"position has {count} replies taken for {purpose!r}; the scenario has {available}")
    if scenario.doc.order == "strict" and taken != _taken_after(scenario, sum(taken.values())):
        raise ValueError(f"position {taken} cannot be reached: the scenario's order is strict")
    return taken


def _taken_after(scenario: Scenario, calls: int) -> dict[str, int]:
    replies = scenario.doc.replies
    return dict(Counter(replies[index].purpose for index in _in_order(scenario)[:calls]))

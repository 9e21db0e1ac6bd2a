"""Time at work, and prices: what a run's budget is measured with."""

from __future__ import annotations

from pathlib import Path

import pytest

from rawko.app.run.budget import Stopwatch, UntimedPeople, check_prices
from rawko.config import ConfigError, Flags, load_settings
from rawko.config.patterns import with_pattern
from rawko.providers.metering.account import Bounds
from rawko.providers.metering.metered import MeteredProvider
from rawko.providers.scripted.provider import ScriptedProvider
from rawko.providers.scripted.scenario_file import parse_scenario
from rawko.runtime.ports import Answer, ModelRequest, ProviderError, Question
from rawko.trust.project import grant
from rawko.vocabulary.budget import Budget, duration_ms
from rawko.vocabulary.messages import user_text
from rawko.vocabulary.usage import Price
from tests.app.budget.hand_clock import Hand


def test_time_at_work_is_that_of_all_processes_without_what_people_take() -> None:
    hand = Hand()
    watch = Stopwatch(hand)
    hand.now += 50
    assert watch.elapsed_ms() == 0, "it has not begun"
    watch.take_up({"elapsed_ms": 1_000})
    watch.start()
    hand.now += 2
    assert watch.elapsed_ms() == 3_000
    with watch.paused():
        hand.now += 60
        with watch.paused():
            hand.now += 60
        hand.now += 60
        assert watch.elapsed_ms() == 3_000
    hand.now += 1
    assert watch.elapsed_ms() == 4_000


async def test_people_think_on_their_own_time() -> None:
    hand = Hand()
    watch = Stopwatch(hand)
    watch.start()

    class Slow:
        async def ask(self, question: Question) -> Answer | None:
            hand.now += 3_600
            return Answer("yes")

    answer = await UntimedPeople(Slow(), watch).ask(Question("clarify", "?"))
    assert (answer, watch.elapsed_ms()) == (Answer("yes"), 0)


REQUEST = ModelRequest(purpose="select", model="asked", system="s", messages=(user_text("go"),))
SCENARIO = """\
scenario: s
model: answering
replies:
  - {purpose: select, text: one, usage: {input_tokens: 1000}, times: 9}
"""


def meter(budget: Budget, *, prices: dict[str, Price] | None = None, elapsed_ms: int = 0) -> MeteredProvider:
    bounds = Bounds(budget, prices or {}, elapsed_ms=lambda: elapsed_ms)
    return MeteredProvider(ScriptedProvider(parse_scenario(SCENARIO)), bounds=bounds)


@pytest.mark.parametrize(
    ("budget", "calls", "said"),
    [
        (Budget(tokens=1000), 1, "1,000 of 1,000 tokens"),
        (Budget(tokens=1001), 2, "2,000 of 1,001 tokens"),
        (Budget(cost_usd=0.003), 1, "$0.0030 of $0.003"),
        (Budget(time="1s"), 0, "the run has worked 1.5 s of 1 s"),
    ],
)
async def test_a_call_is_refused_once_the_budget_is_used_up(budget: Budget, calls: int, said: str) -> None:
    provider = meter(
        budget, prices={"asked": Price(input=3, output=0)}, elapsed_ms=1_500 if budget.time is not None else 0
    )
    for _ in range(calls):
        await provider.create(REQUEST)
    for _ in range(2):
        with pytest.raises(ProviderError, match="budget is used up") as caught:
            await provider.create(REQUEST)
        assert (caught.value.code, said in caught.value.message) == ("budget", True)
    with pytest.raises(ProviderError, match="budget is used up"):
        async for _ in provider.stream(REQUEST):
            raise AssertionError("no call was to be made")
    assert provider.total.calls == calls


async def test_a_model_without_a_price_stops_a_run_whose_cost_is_bounded() -> None:
    provider = meter(Budget(cost_usd=9), prices={"other": Price(input=1, output=1)})
    await provider.create(REQUEST)
    with pytest.raises(ProviderError, match="there is no price for answering"):
        await provider.create(REQUEST)


async def test_a_call_may_take_no_longer_than_there_is_time_left() -> None:
    asked: list[int | None] = []

    class Noting(ScriptedProvider):
        async def create(self, request: ModelRequest):  # type: ignore[no-untyped-def]
            asked.append(request.timeout_ms)
            return await super().create(request)

    bounds = Bounds(Budget(time="10s"), elapsed_ms=lambda: 4_000)
    await MeteredProvider(Noting(parse_scenario(SCENARIO)), bounds=bounds).create(REQUEST)
    assert asked == [6_000]


def test_notes_hold_the_time() -> None:
    assert meter(Budget(), elapsed_ms=77).notes()["elapsed_ms"] == 77


@pytest.mark.parametrize(("text", "expected"), [("90s", 90_000), ("30m", 1_800_000), ("2h", 7_200_000), ("5ms", 5)])
def test_a_duration_is_a_number_with_its_unit(text: str, expected: int) -> None:
    assert duration_ms(text) == expected


@pytest.mark.parametrize("text", ["", "5", "s", "1.5h", "-1s", "1 day"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="accepted: a whole number with its unit"):
        duration_ms(text)


def test_bounds_go_over_bounds_one_by_one() -> None:
    assert Budget(tokens=5).over(Budget(tokens=9, time="1h")) == Budget(tokens=5, time="1h")


CONFIG = """\
model: asked
prices: {asked: {input: 1, output: 1}}
budget: {cost_usd: 1}
"""


def test_prices_are_asked_for_of_the_models_that_may_be_used(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    (folder / ".rawko" / "agents").mkdir(parents=True)
    (folder / ".rawko" / "config.yaml").write_text(CONFIG)
    agent = "name: {name}\nwhen_to_use: x\nsystem_prompt: x\n{more}"
    for name, more in (("cheap", ""), ("dear", "model: unknown-one\n")):
        (folder / ".rawko" / "agents" / f"{name}.yaml").write_text(agent.format(name=name, more=more))
    settings = load_settings(folder, Flags(), {"RAWKO_STATE_DIR": str(tmp_path / "state")}, judge=grant)
    check_prices(settings, "cheap")
    for agents in ("dear", None):
        with pytest.raises(ConfigError, match="no price for unknown-one"):
            check_prices(settings, agents)


def test_the_model_of_a_judge_is_one_of_those_that_may_be_used(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    (folder / ".rawko").mkdir(parents=True)
    (folder / ".rawko" / "config.yaml").write_text(CONFIG)
    settings = load_settings(folder, Flags(), {"RAWKO_STATE_DIR": str(tmp_path / "state")}, judge=grant)
    check_prices(with_pattern(settings, "debate", {"judge_model": "asked"}), "debate")
    with pytest.raises(ConfigError, match="no price for unknown-one"):
        check_prices(with_pattern(settings, "debate", {"judge_model": "unknown-one"}), "debate")

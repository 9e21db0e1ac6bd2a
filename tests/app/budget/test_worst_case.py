"""What lanes may cost at most is said before they begin."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rawko.app.lanes.worst_case import Runner, worst_case
from rawko.config import Flags, Settings, load_settings
from rawko.vocabulary.budget import Budget
from rawko.vocabulary.usage import Price

DEVELOPER = Runner("developer", "m")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    given = load_settings(tmp_path, Flags(), {"HOME": str(tmp_path), "ANTHROPIC_API_KEY": "k"})
    return replace(given, max_tokens=1_000, context_window=101_000, prices={"m": Price(input=2.0, output=10.0)})


def test_full_windows_and_longest_answers_for_all_turns(settings: Settings) -> None:
    turns = settings.agents["developer"].limits.turns
    each = turns * (100_000 * 2 + 1_000 * 10) / 1e6
    assert f"3 lanes; together at most ${3 * each:,.2f}" in worst_case(settings, [DEVELOPER] * 3)
    assert "1 lane;" in worst_case(settings, [DEVELOPER])


def test_the_budget_is_the_bound_where_there_is_one(settings: Settings) -> None:
    bounded = replace(settings, budget=Budget(cost_usd=5))
    assert worst_case(bounded, [DEVELOPER] * 2) == "2 lanes; together at most $5.00, as the budget says"


def test_a_price_that_is_not_known_is_told(settings: Settings) -> None:
    runners = [DEVELOPER, Runner("developer", "another")]
    assert "no bound on the cost: a model's price is not known" in worst_case(settings, runners)
    bounded = replace(settings, budget=Budget(tokens=5_000))
    assert "but 5,000 tokens together" in worst_case(bounded, runners)


def test_a_script_costs_nothing(settings: Settings) -> None:
    free = replace(settings, provider="scripted", prices={})
    assert worst_case(free, [DEVELOPER]) == "1 lane, no cost"


def test_a_judge_is_counted_with_every_question_and_answer_that_it_may_be_asked_for(settings: Settings) -> None:
    """Three questions, each asked again twice where the answer cannot be used."""
    most = (settings.agents["developer"].limits.turns + 9) * (100_000 * 2 + 1_000 * 10) / 1e6
    assert worst_case(settings, [DEVELOPER], ["m"]).startswith(f"1 lane and a judge; together at most ${most:,.2f}")
    assert "a model's price is not known" in worst_case(settings, [DEVELOPER], ["another"])

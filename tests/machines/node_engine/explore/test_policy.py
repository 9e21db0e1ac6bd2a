"""Rules and decisions, and what of the past they look at."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rawko.machines.node_engine.explore.advisor import _usable
from rawko.machines.node_engine.explore.decision import Decision, DecisionError, Situation, parse_decision
from rawko.machines.node_engine.explore.policy import ExplorePolicy, View, choose, parse_policy
from rawko.machines.node_engine.explore.screen import Screen, changed_lines
from rawko.machines.node_engine.explore.trail import KeptTrail
from rawko.vocabulary.documents import DocumentError


def view(
    text: str = "menu\nitem", *, exit_status: int | None = None, unchanged: int = 0, found: str = "", **screen: Any
) -> View:
    return View(Screen(tuple(text.split("\n")), 80, **screen), exit_status, unchanged, frozenset({found}))


def policy(**when: Any) -> ExplorePolicy:
    return ExplorePolicy.model_validate({"rules": [{"name": "r", "press": "q", "when": when}]})


def typed(rule: str, hash: str = "h") -> dict[str, Any]:
    return {"type": "DECIDED", "hash": hash, "rule": rule, "decision": {"action": "keys", "text": "x"}}


@pytest.mark.parametrize(
    ("when", "seen", "trail", "fits"),
    [
        ({}, view(), [], True),
        ({"screen": "menu"}, view(), [], True),
        ({"screen": ["menu", "gone"]}, view(), [], False),
        ({"without": "gone"}, view(), [], True),
        ({"without": ["gone", "item"]}, view(), [], False),
        ({"matches": "^item$"}, view(found="^item$"), [], True),
        ({"matches": "^tem$"}, view(found="^item$"), [], False),
        ({"exited": True}, view(), [], False),
        ({"exited": True}, view(exit_status=0), [], True),
        ({"exited": False}, view(exit_status=0), [], False),
        ({"exit_status": 3}, view(exit_status=3), [], True),
        ({"exit_status": 0}, view(), [], False),
        ({"unchanged": 2}, view(unchanged=1), [], False),
        ({"unchanged": 2}, view(unchanged=2), [], True),
        ({"after": ""}, view(), [], True),
        ({"after": ""}, view(), [typed("")], False),
        ({"after": "r"}, view(), [], False),
        ({"after": "r"}, view(), [typed("r")], True),
        ({"after": "r"}, view(), [typed("r"), typed("")], False),
        ({"is_alternate": True}, view(), [], False),
        ({"is_alternate": True}, view(is_alternate=True), [], True),
    ],
)
def test_when_a_rule_fits(when: dict[str, Any], seen: View, trail: list[dict[str, Any]], fits: bool) -> None:
    assert (choose(policy(**when), seen, trail, ()) is not None) == fits


def test_the_first_rule_that_is_not_spent_and_not_a_dead_end_here() -> None:
    rules = [{"name": name, "press": "q", **more} for name, more in (("a", {}), ("b", {"times": 1}), ("c", {}))]
    chosen = ExplorePolicy.model_validate({"rules": rules})
    seen = view()
    here = seen.screen.hash

    def first(trail: list[dict[str, Any]], *dead_ends: tuple[str, str]) -> str | None:
        rule = choose(chosen, seen, trail, dead_ends)
        return None if rule is None else rule.name

    assert first([]) == "a"
    assert first([], ("elsewhere", "a")) == "a"
    assert first([], (here, "a")) == "b"
    assert first([typed("b")], (here, "a")) == "c"
    assert first([], (here, "a"), (here, "b"), (here, "c")) is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("rules: [{name: a, press: entr}]", "did you mean 'enter'"),
        ("rules: [{name: a}]", "a rule does one thing"),
        ("rules: [{name: a, press: q, wait: true}]", "a rule does one thing"),
        ("rules: [{name: a, type: x, paste: y}]", "'type', 'paste' and 'type_env' exclude each other"),
        ("rules: [{name: a, paste: x, type_env: Y}]", "'type', 'paste' and 'type_env' exclude each other"),
        ("rules: [{name: a, type_env: a=b}]", "'type_env'"),
        ("rules: [{name: a, press: q}, {name: a, press: q}]", "two rules have the name 'a'"),
        ("rules: [{name: a, press: q, when: {after: b}}]", "'after' names 'b', which is no rule"),
        ("rules: [{name: a, press: q, when: {matches: '['}}]", "no regular expression"),
        ("quiet_ms: 500\ncap_ms: 400", "cap_ms 400 is below quiet_ms 500"),
        ("quiet_ms: -1", "quiet_ms"),
        ("stuck_after: 0", "stuck_after"),
        ("otherwise: maybe", "otherwise"),
        ("rulez: []", "did you mean 'rules'"),
        ("rules: [{name: a, stop: perhaps}]", "stop"),
        ("rules: [{name: a, wait: 400}]", "400 is not accepted; accepted: true"),
    ],
)
def test_policies_that_cannot_be_meant(text: str, told: str) -> None:
    with pytest.raises(DocumentError) as refused:
        parse_policy(text, source="p.yaml")
    assert told in str(refused.value)
    assert str(refused.value).startswith("p.yaml:")


# ---------------------------------------------------------------- decisions


@pytest.mark.parametrize(
    ("answer", "gist"),
    [
        ('{"action": "keys", "text": "ls", "keys": ["enter"]}', "type 'ls', press enter"),
        ('{"action": "keys", "keys": ["Ctrl-C", "q"], "text": null, "extra": 1}', "press ctrl-c q"),
        ('```json\n{"action": "wait"}\n```', "wait"),
        ('{"action": "back", "reason": "locked"}', "dead end"),
        ('{"action": "stop", "outcome": "success", "summary": "42"}', "stop: success"),
    ],
)
def test_decisions(answer: str, gist: str) -> None:
    assert parse_decision(answer).in_one_line == gist


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("", "the answer is empty; accepted: one JSON object with 'action'"),
        ("press enter", "is not JSON"),
        ("[]", "is JSON but not an object"),
        ("{}", "action is missing; accepted: keys, wait, back, stop"),
        ('{"action": "jump"}', "action is 'jump'"),
        ('{"action": "keys"}', "action 'keys' needs 'text' or 'keys'"),
        ('{"action": "keys", "keys": ["entr"]}', "did you mean 'enter'"),
        ('{"action": "keys", "keys": "enter"}', "keys is 'enter'"),
        ('{"action": "keys", "text": 3}', "text is '3'"),
        ('{"action": "stop"}', "action 'stop' needs 'outcome'"),
        ('{"action": "keys", "text": NaN}', "NaN is not JSON"),
        ('{"action": "keys", "text": "' + "x" * 10_001 + '"}', "text is 'xxx"),
    ],
)
def test_answers_that_are_no_decision(answer: str, told: str) -> None:
    with pytest.raises(DecisionError) as refused:
        parse_decision(answer)
    assert told in str(refused.value)
    assert len(str(refused.value)) < 2_000


# ---------------------------------------------------------------- the trail


def test_the_trail_is_what_leads_from_the_launch_to_here() -> None:
    trail = KeptTrail()
    launched = {"type": "LAUNCHED", "replayed": 0}
    wait = {"type": "DECIDED", "hash": "h", "rule": "w", "decision": {"action": "wait"}}
    trail.add([launched, typed("a"), wait, typed("b"), typed("c")])
    assert [event["rule"] for event in trail.decisions()] == ["a", "b", "c"], "what was not typed leads nowhere"
    trail.add([{"type": "DEAD_END", "kept": 2}])
    assert [event["rule"] for event in trail.decisions()] == ["a", "b"]
    trail.add([{"type": "LAUNCHED", "replayed": 1}])
    assert [event["rule"] for event in trail.decisions()] == ["a"], "the rest was not made again"
    trail.add([launched])
    assert trail.decisions() == ()


# ---------------------------------------------------------------- screens


@given(st.lists(st.sampled_from(["", "a", "b"]), max_size=6), st.lists(st.sampled_from(["", "a", "b"]), max_size=6))
def test_what_has_changed_makes_one_screen_the_other(before: list[str], after: list[str]) -> None:
    made = [*before, *[""] * (max(len(before), len(after)) - len(before))]
    for change in changed_lines(before, after):
        assert made[change["line"]] != change["text"]
        made[change["line"]] = change["text"]
    assert made == [*after, *[""] * (len(made) - len(after))]


def test_variables_and_patterns_of_the_rules_are_named_once() -> None:
    text = """
rules:
- {name: a, type_env: USER_NAME, when: {matches: "login:"}}
- {name: b, type_env: PASSWORD, when: {matches: "word:"}}
- {name: c, type_env: USER_NAME, when: {matches: "login:"}}
- {name: d, press: q}
"""
    found = parse_policy(text)
    assert found.variables == ("USER_NAME", "PASSWORD")
    assert found.patterns == ("login:", "word:")


@pytest.mark.parametrize(
    ("decision", "situation", "problem"),
    [
        (Decision(action="keys", text="q"), {}, None),
        (Decision(action="keys", text="q"), {"refused": ("keys:'':f2",)}, None),
        (Decision(action="keys", text="q"), {"exit_status": 0}, "the program has ended"),
        (Decision(action="keys", text="q"), {"refused": (Decision(action="keys", text="q").choice,)}, "dead end"),
        (Decision(action="wait"), {"exit_status": 0, "refused": (Decision(action="wait").choice,)}, None),
    ],
)
def test_a_decision_that_leads_nowhere_is_asked_for_again(
    decision: Decision, situation: dict[str, Any], problem: str | None
) -> None:
    seen = Situation("goal", Screen(("menu",), 80), **{"exit_status": None, **situation})
    if problem is None:
        assert _usable(decision, seen) is decision
    else:
        with pytest.raises(DecisionError, match=problem):
            _usable(decision, seen)

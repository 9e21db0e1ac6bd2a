"""The chart, driven through the interpreter: which way it goes, what it starts and stops, how it ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from rawko.chart import load_chart, shipped_path
from rawko.chart.lint.bindings import lint_bindings
from rawko.chart.lint.linting import lint_chart
from rawko.interpreter.clocks import SimulatedClock
from rawko.interpreter.data.effects import SendTo, StopInvocation
from rawko.interpreter.data.steps import Receipt
from rawko.interpreter.data.values import thaw
from rawko.interpreter.running.interpreter import Interpreter
from rawko.machines.orchestrator import bindings
from rawko.runtime import bound_names
from tests.machines.driven import Driven

CHART = load_chart(shipped_path("statecharts") / "orchestrator.yaml")
COST = {"input_tokens": 10, "output_tokens": 5, "cache_read_tokens": 0, "cache_write_tokens": 0, "calls": 1}
SELECT = {"type": "SELECT_MODE", "mode": "developer", "reason": "code is needed", "usage": COST}
PLAN = {"steps": [{"index": i, "description": f"step {i}"} for i in (1, 2, 3)]}
MISFIT = {"is_complete": True}
AGENTS = {
    name: {"name": name, "display_name": name.title(), "when_to_use": f"to be the {name}"}
    for name in ("planner", "developer", "reviewer")
}


class Machine(Driven):
    """The orchestrator with actors that say what the test says, and a clock that goes when the test says."""

    def __init__(self, snapshot: Mapping[str, Any] | None = None, /, **given: Any) -> None:
        machine = Interpreter(CHART, bindings, input={"agents": AGENTS, **given})
        super().__init__(machine, snapshot=snapshot)

    def ends(self, id: str, **output: Any) -> None:
        """An invocation ends with an output of these fields."""
        self.done(output, id=id)

    def breaks(self, id: str, **error: Any) -> None:
        """An invocation ends with an error of these fields."""
        self.failed(id=id, **error)

    def tells(self, event: str, **data: Any) -> None:
        """The agent's machine sends its parent an event."""
        self.yields(event, from_id="execute_agent", **data)


def selecting(**given: Any) -> Machine:
    machine = Machine(**given)
    assert machine.send("START_TASK", task="Do it").receipt is Receipt.TAKEN
    assert machine.state == "selecting"
    return machine


def executing(**given: Any) -> Machine:
    machine = selecting(**given)
    machine.ends("select_agent", **SELECT)
    assert machine.state == "working"
    return machine


def evaluating(**given: Any) -> Machine:
    machine = executing(**given)
    machine.ends("execute_agent", outcome="success", summary="did it", usage=COST)
    assert machine.state == "evaluating"
    return machine


def with_plan(machine: Machine) -> Machine:
    """From executing: the agent makes a plan and goes on."""
    machine.ends("execute_agent", outcome="success", summary="planned", plan_updates=PLAN)
    machine.ends("evaluate_progress", type="CONTINUE", reason="go on")
    assert machine.state == "working"
    return machine


def backing_off(**given: Any) -> Machine:
    machine = selecting(**given)
    machine.breaks("select_agent", message="slow down", code="rate_limited")
    assert machine.state == "backing_off"
    return machine


# ---------------------------------------------------------------- shape


def test_the_chart_has_the_states_that_were_agreed() -> None:
    """S3-002, S3-038, C-05, C-10, C-29."""
    assert CHART.name == "rawko"
    assert CHART["rawko"].initial == ("idle",)
    named = {"idle", "selecting", "executing", "evaluating", "error_handling", "backing_off", "cancelling"}
    assert named <= set(CHART.states)
    assert {state.name for state in CHART if state.kind == "final"} == {"complete", "failed", "cancelled"}
    assert all(state.description for state in CHART if state.name != "rawko")


def test_the_chart_is_without_defects() -> None:
    """`rawko check` finds nothing, although the actors are bound only where there is a world."""
    assert [str(found) for found in lint_chart(CHART)] == []
    assert [str(found) for found in lint_bindings(CHART, bound_names(bindings))] == []
    without = replace(bound_names(bindings), actors=frozenset())
    assert {found.code for found in lint_bindings(CHART, without)} == {"unbound-actor"}


def test_every_bound_function_is_used() -> None:
    """has_more_work is offered to charts of one's own (C-08)."""
    text = (shipped_path("statecharts") / "orchestrator.yaml").read_text(encoding="utf-8")
    unused = {name for kind, name, _ in bindings for _ in [kind] if name not in text}
    assert unused == {"has_more_work"}


# ---------------------------------------------------------------- the good way


def test_a_task_from_start_to_success() -> None:
    """S3-030 ... S3-038, A3-011."""
    machine = evaluating()
    machine.ends("evaluate_progress", type="COMPLETE", summary="all done", usage=COST)
    assert machine.state == "complete"
    output = machine.output
    assert (output["outcome"], output["summary"], output["iterations"]) == ("success", "all done", 1)
    assert output["usage"]["calls"] == 3
    assert [entry["result"] for entry in output["history"]] == ["success"]
    assert machine.logged == [
        "[rawko] Starting task: Do it",
        "[rawko] Agent 'developer' starting (iteration 1)",
        "[rawko] Agent 'developer' completed",
        "[rawko] Task completed in 1 iterations",
    ]
    assert machine.emitted == [
        "ARBITER_DECISION",
        "AGENT_SELECTED",
        "AGENT_COMPLETE",
        "ARBITER_DECISION",
        "SESSION_CLEANUP",
    ]


def test_an_empty_task_is_not_begun() -> None:
    machine = Machine()
    assert machine.send("START_TASK", task="  ").receipt is Receipt.DENIED
    assert machine.send("START_TASK").receipt is Receipt.DENIED
    assert machine.state == "idle"


def test_a_second_task_is_not_taken_while_one_runs() -> None:
    assert executing().send("START_TASK", task="Other").receipt is Receipt.NOT_HANDLED


# ---------------------------------------------------------------- decisions


@pytest.mark.parametrize(
    ("decision", "state", "agent"),
    [
        ({"type": "COMPLETE", "summary": "s"}, "complete", "developer"),
        ({"type": "ABORT", "reason": "r"}, "failed", "developer"),
        ({"type": "RETRY", "reason": "r"}, "selecting", "developer"),
        ({"type": "RETRY", "reason": "r", "mode": "planner"}, "selecting", "developer"),
        ({"type": "SKIP", "reason": "r"}, "selecting", "developer"),
        ({"type": "SKIP", "reason": "r", "mode": "planner"}, "selecting", "developer"),
        ({"type": "SELECT_MODE", "mode": "reviewer", "reason": "r"}, "working", "reviewer"),
        ({"type": "SELECT_MODE", "mode": "ghost", "reason": "r"}, "selecting", "developer"),
        ({"type": "SELECT_MODE", "reason": "r"}, "selecting", "developer"),
        ({"type": "CONTINUE", "reason": "r"}, "working", "developer"),
    ],
)
def test_where_a_judgement_leads(decision: dict[str, Any], state: str, agent: str) -> None:
    """C-01, C-28."""
    machine = evaluating()
    machine.ends("evaluate_progress", **decision)
    assert (machine.state, machine.context.current_mode) == (state, agent)
    kept = thaw(machine.context.last_arbiter_decision)
    assert {name: kept[name] for name in decision} == decision


def test_continue_keeps_the_agent_and_asks_nobody() -> None:
    """C-01."""
    machine = evaluating()
    machine.ends("evaluate_progress", type="CONTINUE", reason="r")
    assert len(machine.started("select_agent")) == 1
    assert [given["agent"].name for given in machine.started("execute_agent")] == ["developer", "developer"]
    assert machine.context.iteration_count == 2


def test_retry_asks_again_with_the_agent_before_as_a_hint() -> None:
    """C-02."""
    machine = evaluating()
    machine.ends("evaluate_progress", type="RETRY", reason="r")
    assert machine.started("select_agent")[-1]["previous_agent"] == "developer"


@pytest.mark.parametrize(
    ("decision", "state", "mode"),
    [
        ({"type": "COMPLETE", "summary": "s"}, "complete", "planner"),
        ({"type": "ABORT", "reason": "r"}, "failed", "planner"),
        ({"type": "RETRY", "reason": "r"}, "working", "planner"),
        ({"type": "CONTINUE", "reason": "r"}, "working", "planner"),
        ({"type": "RETRY", "reason": "r", "mode": "developer"}, "working", "developer"),
        ({"type": "SELECT_MODE", "mode": "developer", "reason": "r"}, "working", "developer"),
        ({"type": "SELECT_MODE", "mode": "ghost", "reason": "r"}, "backing_off", "planner"),
        ({"type": "SKIP", "reason": "r"}, "backing_off", "planner"),
    ],
)
def test_where_a_selection_leads_when_somebody_has_worked(decision: dict[str, Any], state: str, mode: str) -> None:
    """C-02, C-28."""
    machine = selecting()
    machine.ends("select_agent", **{**SELECT, "mode": "planner"})
    machine.ends("execute_agent", outcome="success", summary="s")
    machine.ends("evaluate_progress", type="RETRY", reason="r")
    machine.ends("select_agent", **decision)
    assert (machine.state, machine.context.current_mode) == (state, mode)


def test_again_with_nobody_before_is_a_validation_error() -> None:
    """C-02."""
    machine = selecting()
    machine.ends("select_agent", type="RETRY", reason="r")
    assert machine.state == "backing_off"
    assert machine.context.last_error.category == "validation_error"
    assert (machine.context.last_error.agent, machine.context.consecutive_failures) == ("arbiter", 1)


@pytest.mark.parametrize(
    ("decision", "outcome", "summary"),
    [
        ({"type": "COMPLETE", "summary": "nothing to do"}, "success", "nothing to do"),
        ({"type": "ABORT", "reason": "hopeless"}, "failure", "hopeless"),
    ],
)
def test_a_selection_may_end_the_task(decision: dict[str, Any], outcome: str, summary: str) -> None:
    """C-02, C-28."""
    machine = selecting()
    machine.ends("select_agent", **decision, usage=COST)
    assert (machine.output["outcome"], machine.output["summary"]) == (outcome, summary)
    assert machine.output["usage"]["calls"] == 1


@pytest.mark.parametrize("kind", ["RETRY", "CONTINUE", "SKIP"])
def test_every_decision_of_a_selection_is_kept(kind: str) -> None:
    machine = selecting()
    machine.ends("select_agent", **SELECT)
    machine.ends("execute_agent", outcome="success", summary="s", plan_updates=PLAN)
    machine.ends("evaluate_progress", type="RETRY", reason="r")
    machine.ends("select_agent", type=kind, reason="mine", usage=COST)
    assert (machine.context.last_arbiter_decision.type, machine.context.last_arbiter_decision.reason) == (kind, "mine")
    assert machine.context.usage.calls == 2


def test_skip_leaves_out_the_step_and_selects_anew() -> None:
    """C-28."""
    machine = with_plan(executing())
    machine.ends("execute_agent", outcome="success", summary="s")
    machine.ends("evaluate_progress", type="SKIP", reason="r")
    assert [step.status for step in machine.context.plan.steps] == ["skipped", "pending", "pending"]
    machine.ends("select_agent", type="SKIP", reason="r", mode="planner")
    assert (machine.state, machine.context.plan.current_step_index) == ("selecting", 2)
    assert machine.started("select_agent")[-1]["plan"].current_step_index == 2


def test_abort_says_why() -> None:
    """C-28."""
    machine = evaluating()
    machine.ends("evaluate_progress", type="ABORT", reason="it cannot be done")
    assert (machine.output["outcome"], machine.output["summary"]) == ("failure", "it cannot be done")
    assert machine.logged[-1] == "[rawko] Task failed after 0 failures"
    assert machine.emitted[-1] == "SESSION_CLEANUP"


# ---------------------------------------------------------------- the cap


@pytest.mark.parametrize(
    "decision",
    [
        {"type": "RETRY", "reason": "r"},
        {"type": "CONTINUE", "reason": "r"},
        {"type": "SKIP", "reason": "r"},
        {"type": "SELECT_MODE", "mode": "planner", "reason": "r"},
        {"type": "SELECT_MODE", "mode": "ghost", "reason": "r"},
    ],
)
def test_no_decision_gets_past_the_cap(decision: dict[str, Any]) -> None:
    """C-03, C-04: complete, but the outcome is limit and nobody says that the task was completed."""
    machine = evaluating(max_iterations=1)
    machine.ends("evaluate_progress", **decision)
    assert machine.state == "complete"
    assert (machine.output["outcome"], machine.output["summary"]) == ("limit", "Max iterations reached")
    assert machine.logged[-2:] == [
        "[rawko] Max iterations (1) reached",
        "[rawko] Task stopped at its limit of 1 iterations",
    ]


def test_an_endless_retry_meets_the_cap() -> None:
    """C-03."""
    machine = evaluating(max_iterations=3)
    for _ in range(2):
        machine.ends("evaluate_progress", type="RETRY", reason="r")
        machine.ends("select_agent", **SELECT)
        machine.ends("execute_agent", outcome="success", summary="s")
    machine.ends("evaluate_progress", type="RETRY", reason="r")
    assert (machine.output["outcome"], machine.output["iterations"]) == ("limit", 3)


@pytest.mark.parametrize(
    ("decision", "outcome"),
    [
        ({"type": "COMPLETE", "summary": "s"}, "success"),
        ({"type": "ABORT", "reason": "r"}, "failure"),
        ({"type": "RETRY", "reason": "r"}, "limit"),
        ({"type": "SKIP", "reason": "r"}, "limit"),
        ({"type": "SELECT_MODE", "mode": "planner", "reason": "r"}, "limit"),
        ({"type": "SELECT_MODE", "mode": "ghost", "reason": "r"}, "limit"),
    ],
)
@pytest.mark.parametrize("where", ["selecting", "evaluating"])
def test_what_a_decision_comes_to_at_the_cap(decision: dict[str, Any], outcome: str, where: str) -> None:
    """C-03, C-04, C-28: in both states the arbiter may end the task as it sees fit, and nothing else passes."""
    machine = executing(max_iterations=2)
    machine.ends("execute_agent", outcome="success", summary="s", plan_updates=PLAN)
    machine.ends("evaluate_progress", type="CONTINUE", reason="r")
    if where == "evaluating":
        machine.ends("execute_agent", outcome="success", summary="s")
        machine.ends("evaluate_progress", **decision)
    else:
        machine.breaks("execute_agent", message="m", category="permission_error")
        machine.ends("select_agent", **decision)
    assert machine.output["outcome"] == outcome
    assert ("[rawko] Max iterations (2) reached" in machine.logged) == (outcome == "limit")


def test_success_at_the_cap_is_success() -> None:
    """C-03: is_complete is asked first."""
    machine = evaluating(max_iterations=1)
    machine.ends("evaluate_progress", type="COMPLETE", summary="s")
    assert machine.output["outcome"] == "success"


def test_the_cap_guards_selection_as_well() -> None:
    """C-03: after a failed last run."""
    machine = executing(max_iterations=1)
    machine.breaks("execute_agent", message="m", category="tool_failure")
    assert machine.state == "backing_off"
    assert machine.send("FORCE_AGENT", agent_name="planner").receipt is Receipt.DENIED
    machine.send("RETRY")
    assert machine.state == "selecting"
    assert machine.send("FORCE_AGENT", agent_name="planner").receipt is Receipt.DENIED
    machine.ends("select_agent", **SELECT)
    assert (machine.state, machine.output["outcome"], machine.output["iterations"]) == ("complete", "limit", 1)


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("error", "state"),
    [
        ({"category": "tool_failure"}, "backing_off"),
        ({"category": "validation_error"}, "backing_off"),
        ({"category": "timeout"}, "backing_off"),
        ({"category": "permission_error"}, "selecting"),
        ({"category": "unknown"}, "backing_off"),
        ({"code": "rate_limited"}, "backing_off"),
        ({"code": "network_error"}, "backing_off"),
        ({"code": "overloaded"}, "backing_off"),
        ({"code": "server_error"}, "backing_off"),
        ({"code": "authentication"}, "failed"),
        ({"code": "billing"}, "failed"),
        ({"code": "invalid_request"}, "failed"),
    ],
)
@pytest.mark.parametrize("where", ["selecting", "executing", "evaluating"])
def test_which_errors_the_task_survives(error: dict[str, Any], state: str, where: str) -> None:
    """S3-037, S3-044, C-13."""
    ways = {"selecting": (selecting, "select_agent"), "executing": (executing, "execute_agent")}
    make, actor = ways.get(where, (evaluating, "evaluate_progress"))
    machine = make()
    machine.breaks(actor, message="boom", **error)
    assert machine.state == state
    assert ("[rawko] Recovering from error: boom" in machine.logged) == (state != "failed")
    assert (machine.context.consecutive_failures, machine.context.total_failures) == (1, 1)
    assert machine.context.last_error.agent == ("developer" if where == "executing" else "arbiter")


def test_only_a_run_that_failed_is_in_the_history() -> None:
    """C-24, C-31: with its start, words and tokens."""
    machine = selecting()
    machine.breaks("select_agent", message="m", code="overloaded")
    assert len(machine.context.history) == 0
    machine.wait(60)
    machine.ends("select_agent", **SELECT)
    machine.wait(7)
    machine.breaks("execute_agent", message="boom", category="tool_failure", summary="half", usage=COST)
    [entry] = machine.context.history
    assert (entry.result, entry.output, entry.usage.calls) == ("failure", "half", 1)
    assert entry.completed_at - entry.started_at == 7_000
    assert entry.error.category == "tool_failure"
    assert "[rawko] Agent 'developer' error: boom" in machine.logged
    assert "[rawko] Recovering from error: boom" in machine.logged


def test_a_rate_limited_arbiter_is_not_asked_for_ever() -> None:
    """C-24: every error counts, each wait is longer, and the third in a row fails."""
    machine = selecting()
    waits = []
    for _ in range(2):
        machine.breaks("select_agent", message="slow down", code="rate_limited")
        assert machine.state == "backing_off"
        due = machine.machine.next_due()
        assert due is not None
        waits.append(due - machine.machine.clock.time)
        machine.wait(waits[-1])
        assert machine.state == "selecting"
    machine.breaks("select_agent", message="slow down", code="rate_limited")
    assert machine.state == "failed"
    assert 0.5 <= waits[0] <= 1 <= waits[1] <= 2
    assert len(machine.started("select_agent")) == 3
    assert machine.output["error"]["code"] == "rate_limited"
    assert machine.logged[-2:] == [
        "[rawko] Max consecutive failures (3) reached",
        "[rawko] Task failed after 3 failures",
    ]


def test_what_the_provider_asks_for_is_waited() -> None:
    """C-24."""
    machine = selecting()
    machine.breaks("select_agent", message="m", code="rate_limited", retry_after_ms=30_000)
    machine.wait(29)
    assert machine.state == "backing_off"
    machine.wait(1)
    assert machine.state == "selecting"


def test_two_unknown_errors_in_a_row_are_one_too_many() -> None:
    """C-13."""
    machine = selecting()
    machine.breaks("select_agent", message="m")
    machine.wait(60)
    machine.breaks("select_agent", message="m")
    assert (machine.state, machine.context.consecutive_failures) == ("failed", 2)


def test_a_success_ends_the_streak() -> None:
    """S3-033, C-37."""
    machine = backing_off()
    machine.wait(60)
    machine.ends("select_agent", **SELECT)
    assert machine.context.consecutive_failures == 1
    machine.ends("execute_agent", outcome="success", summary="s")
    assert (machine.context.consecutive_failures, machine.context.total_failures) == (0, 1)
    assert machine.context.last_error is None


@pytest.mark.parametrize("category", ["permission_error", "tool_failure", "unknown"])
def test_whatever_the_error_three_in_a_row_are_too_many(category: str) -> None:
    """S3-037, S3-043: asked first."""
    machine = executing()
    for _ in range(2):
        machine.breaks("execute_agent", message="m", category="tool_failure")
        machine.send("RETRY")
        machine.ends("select_agent", **SELECT)
    machine.breaks("execute_agent", message="m", category=category)
    assert (machine.state, machine.context.consecutive_failures) == ("failed", 3)


def test_the_number_of_failures_is_configurable() -> None:
    """S6-022."""
    machine = selecting(max_consecutive_failures=1)
    machine.breaks("select_agent", message="m", code="rate_limited")
    assert machine.state == "failed"


@pytest.mark.parametrize("make", [selecting, evaluating])
def test_an_arbiter_that_never_answers_is_a_timeout(make: Any) -> None:
    machine = make()
    machine.wait(119)
    assert machine.state in ("selecting", "evaluating")
    machine.wait(1)
    assert machine.state == "backing_off"
    assert (machine.context.last_error.category, machine.context.last_error.agent) == ("timeout", "arbiter")


def test_a_judgement_that_is_none_does_not_hang_the_task() -> None:
    """C-01 has no default; an answer of no known type runs into the state's own bound."""
    machine = evaluating()
    machine.ends("evaluate_progress", type="DANCE")
    machine.wait(599)
    assert machine.state == "evaluating"
    machine.wait(1)
    assert (machine.state, machine.context.last_error.category) == ("backing_off", "timeout")


# ---------------------------------------------------------------- how runs end


def test_a_limit_is_neither_success_nor_failure() -> None:
    """C-33."""
    machine = executing()
    machine.breaks("execute_agent", message="m", category="tool_failure")
    machine.wait(60)
    machine.ends("select_agent", **SELECT)
    machine.ends("execute_agent", outcome="limit", summary="got half way", usage=COST)
    assert machine.state == "evaluating"
    assert (machine.context.consecutive_failures, machine.context.history[-1].result) == (1, "limit")
    assert machine.context.history[-1].usage.calls == 1


def test_a_run_that_says_it_failed_has_failed() -> None:
    """C-13."""
    machine = executing()
    machine.ends("execute_agent", outcome="failure", error={"message": "boom", "category": "tool_failure"})
    assert (machine.state, machine.context.history[-1].result) == ("backing_off", "failure")


@pytest.mark.parametrize(
    ("output", "result", "line"),
    [
        ({"outcome": "success"}, "success", "[rawko] Agent 'developer' completed"),
        ({"outcome": "limit"}, "limit", "[rawko] Agent 'developer' stopped at its limit"),
        ({"outcome": "cancelled"}, "cancelled", "[rawko] Task cancelled"),
        ({"outcome": "failure", "summary": "no"}, "failure", "[rawko] Agent 'developer' error: no"),
        (
            {"outcome": "limit", "plan_updates": {"is_complete": True}},
            "failure",
            "[rawko] Agent 'developer' error: the",
        ),
        (
            {"outcome": "success", "plan_updates": {"is_complete": True}},
            "failure",
            "[rawko] Agent 'developer' error: the",
        ),
        ({"outcome": "cancelled", "plan_updates": {"is_complete": True}}, "cancelled", "[rawko] Task cancelled"),
        (None, "failure", "[rawko] Agent 'developer' error: boom"),
    ],
)
def test_however_a_run_ends_it_is_kept_whole(output: dict[str, Any] | None, result: str, line: str) -> None:
    """S3-050, C-31, C-32, C-33, C-36: result, words, tokens, conversation, log line."""
    machine = executing()
    left = {"usage": COST, "messages": [said("x")]}
    if output is None:
        machine.breaks("execute_agent", message="boom", category="tool_failure", **left)
    else:
        machine.ends("execute_agent", **output, **left)
    [entry] = machine.context.history
    assert (entry.result, entry.usage.calls, machine.context.usage.calls) == (result, 1, 2)
    assert len(machine.context.messages) == 1
    assert any(logged.startswith(line) for logged in machine.logged)


def test_a_limit_keeps_the_plan_and_forgets_the_error() -> None:
    """C-33, C-37."""
    machine = executing()
    machine.breaks("execute_agent", message="m", category="permission_error")
    machine.ends("select_agent", **SELECT)
    machine.ends("execute_agent", outcome="limit", plan_updates=PLAN)
    assert len(machine.context.plan.steps) == 3
    assert machine.context.last_error is None


def test_an_agent_that_somebody_stopped_ends_the_task() -> None:
    machine = executing()
    machine.ends("execute_agent", outcome="cancelled")
    assert (machine.state, machine.context.history[-1].result) == ("cancelled", "cancelled")


@pytest.mark.parametrize("updates", [{"current_step_index": 1}, {"steps": []}, {"nonsense": 1}])
def test_plan_updates_that_do_not_fit_are_an_error(updates: dict[str, Any]) -> None:
    """C-36."""
    machine = executing()
    machine.ends("execute_agent", outcome="success", summary="s", plan_updates=updates)
    assert (machine.state, machine.context.plan) == ("backing_off", None)
    assert machine.context.last_error.category == "validation_error"
    assert machine.context.history[-1].result == "failure"


def test_plan_updates_are_merged() -> None:
    """S3-033, C-36."""
    machine = with_plan(executing())
    done = {"step_updates": [{"index": 1, "status": "complete"}]}
    machine.ends("execute_agent", outcome="success", summary="s", plan_updates=done)
    assert machine.context.plan.current_step_index == 1
    assert tuple(machine.context.history[-1].steps_completed) == (1,)
    assert machine.context.history[-1].plan_step == 1


def test_a_timed_out_run_is_recorded_as_a_timeout() -> None:
    """C-17."""
    machine = executing()
    machine.breaks("execute_agent", message="m", category="timeout")
    assert machine.context.history[-1].result == "timeout"


# ---------------------------------------------------------------- conversations


def said(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


def test_the_same_agent_goes_on_with_its_conversation_and_another_starts_its_own() -> None:
    """C-35."""
    machine = executing()
    machine.ends("execute_agent", outcome="success", summary="s", messages=[said("one"), said("two")])
    machine.ends("evaluate_progress", type="CONTINUE", reason="r")
    again = machine.started("execute_agent")[-1]
    assert (again["start"], thaw(again["messages"])) == ("resume", [said("one"), said("two")])

    machine.ends("execute_agent", outcome="success", summary="s", messages=[said("three")])
    machine.ends("evaluate_progress", type="SELECT_MODE", mode="reviewer", reason="r")
    other = machine.started("execute_agent")[-1]
    assert (other["start"], thaw(other["messages"])) == ("fresh", [])
    assert [run.agent for run in other["handover"]] == ["developer", "developer"]

    machine.ends("execute_agent", outcome="success", summary="s", messages=[said("four")])
    machine.ends("evaluate_progress", type="CONTINUE", reason="r")
    assert thaw(machine.started("execute_agent")[-1]["messages"]) == [said("four")]
    assert [entry.agent for entry in machine.context.messages] == ["developer"] * 3 + ["reviewer"]


# ---------------------------------------------------------------- streaming and people


def test_what_the_agent_says_reaches_observers() -> None:
    """S3-035, C-25."""
    machine = executing()
    machine.tells("AGENT_MESSAGE", message=said("hello"))
    machine.tells("AGENT_TOOL_CALL", tool_call={"id": "1", "name": "bash", "input": {}})
    assert machine.emitted[-2:] == ["AGENT_MESSAGE", "AGENT_TOOL_CALL"]
    assert machine.logged[-1] == "[rawko] Tool call: bash"
    assert machine.state == "working"


def test_a_waiting_agent_is_told_by_a_tag() -> None:
    """The orchestrator stays in executing while a person is needed."""
    machine = executing()
    machine.tells("AGENT_WAITING", kind="clarify", text="which?")
    assert "waiting" in machine.machine.tags and machine.machine.matches("executing")
    machine.tells("AGENT_RESUMED")
    assert "waiting" not in machine.machine.tags
    assert len(machine.started("execute_agent")) == 1


# ---------------------------------------------------------------- people interfere


@pytest.mark.parametrize("make", [Machine, selecting, evaluating, backing_off])
def test_cancel_ends_the_task_at_once_where_no_agent_works(make: Any) -> None:
    """C-29."""
    machine = make()
    machine.send("CANCEL")
    assert machine.state == "cancelled"
    assert (machine.output["outcome"], machine.output["summary"]) == ("cancelled", "Task cancelled")
    assert machine.logged[-1] == "[rawko] Task cancelled"
    assert machine.emitted[-1] == "SESSION_CLEANUP"


@pytest.mark.parametrize("waiting", [False, True])
def test_cancel_stops_the_agent_first(waiting: bool) -> None:
    """C-29, C-32: the agent is told, answers, and its run is recorded."""
    machine = executing()
    if waiting:
        machine.tells("AGENT_WAITING")
    machine.send("CANCEL")
    assert machine.state == "cancelling"
    assert [effect for effect in machine.effects if isinstance(effect, SendTo)] == [
        SendTo("execute_agent", "CANCEL", {})
    ]
    assert not [
        effect for effect in machine.effects if isinstance(effect, StopInvocation) and effect.id == "execute_agent"
    ]
    assert machine.send("CANCEL").receipt is Receipt.DENIED
    assert machine.send("FORCE_AGENT", agent_name="planner").receipt is Receipt.NOT_HANDLED
    machine.ends("execute_agent", outcome="cancelled", summary="stopped", usage=COST, messages=[said("bye")])
    assert machine.state == "cancelled"
    [entry] = machine.output["history"]
    assert (entry["result"], entry["output"], entry["usage"]) == ("cancelled", "stopped", COST)
    assert len(machine.context.messages) == 1


def test_cancel_does_not_wait_for_ever() -> None:
    """C-29: 10 seconds."""
    machine = executing()
    machine.send("CANCEL")
    machine.wait(9.9)
    assert machine.state == "cancelling"
    machine.wait(0.1)
    assert (machine.state, machine.output["history"][0]["result"]) == ("cancelled", "cancelled")


def test_an_agent_that_fails_while_it_is_stopped_is_cancelled_all_the_same() -> None:
    machine = executing()
    machine.send("CANCEL")
    machine.breaks("execute_agent", message="killed", category="tool_failure")
    assert (machine.state, machine.context.total_failures) == ("cancelled", 0)


@pytest.mark.parametrize("make", [selecting, evaluating, backing_off])
def test_a_forced_agent_works_at_once_where_no_agent_works(make: Any) -> None:
    """S3-024, C-28."""
    machine = make()
    assert machine.send("FORCE_AGENT", agent_name="ghost").receipt is Receipt.DENIED
    assert machine.send("FORCE_AGENT", agent_name="reviewer").receipt is Receipt.TAKEN
    assert (machine.state, machine.context.current_mode) == ("working", "reviewer")
    assert machine.started("execute_agent")[-1]["agent"].name == "reviewer"


@pytest.mark.parametrize("ending", ["done", "failed", "silent"])
def test_a_forced_agent_waits_until_the_other_has_stopped(ending: str) -> None:
    """C-28: after a safe stop, which is recorded."""
    machine = executing()
    machine.send("FORCE_AGENT", agent_name="reviewer")
    assert (machine.state, machine.context.iteration_count) == ("stopping", 1)
    assert machine.context.current_mode == "developer"
    match ending:
        case "done":
            machine.ends("execute_agent", outcome="cancelled")
        case "failed":
            machine.breaks("execute_agent", message="m")
        case _:
            machine.wait(10)
    assert (machine.state, machine.context.current_mode) == ("working", "reviewer")
    assert (machine.context.iteration_count, machine.context.forced_agent) == (2, "")
    assert [(entry.agent, entry.result) for entry in machine.context.history] == [("developer", "cancelled")]
    assert machine.context.total_failures == 0
    assert [given["agent"].name for given in machine.started("execute_agent")] == ["developer", "reviewer"]


@pytest.mark.parametrize("is_answered", [True, False])
@pytest.mark.parametrize(("event", "state"), [("FORCE_AGENT", "working"), ("SKIP_STEP", "selecting")])
def test_a_stopped_run_is_kept_whole(event: str, state: str, is_answered: bool) -> None:
    """C-28, C-32: the agent is told, and what it leaves behind is recorded, be it nothing."""
    machine = with_plan(executing())
    before = len(machine.context.messages)
    machine.send(event, agent_name="reviewer")
    assert machine.effects[-1] == SendTo("execute_agent", "CANCEL", {})
    if is_answered:
        machine.ends("execute_agent", outcome="cancelled", summary="stopped", usage=COST, messages=[said("bye")])
    else:
        machine.wait(10)
    entry = machine.context.history[1]
    assert (machine.state, entry.result, entry.usage.calls) == (state, "cancelled", int(is_answered))
    assert len(machine.context.messages) == before + is_answered


def test_cancel_wins_over_a_forced_agent() -> None:
    machine = executing()
    machine.send("FORCE_AGENT", agent_name="reviewer")
    machine.send("CANCEL")
    machine.ends("execute_agent", outcome="cancelled")
    assert machine.state == "cancelled"


def test_a_step_is_skipped_in_every_state_that_has_one() -> None:
    """S3-024, C-28."""
    machine = with_plan(executing())
    starts = len(machine.started("execute_agent"))
    machine.send("SKIP_STEP")
    assert (machine.state, machine.context.iteration_count) == ("stopping", 2)
    assert len(machine.started("execute_agent")) == starts
    machine.ends("execute_agent", outcome="cancelled")
    assert (machine.state, machine.context.plan.current_step_index) == ("selecting", 1)
    machine.send("SKIP_STEP")
    assert (machine.state, machine.context.plan.current_step_index) == ("selecting", 2)
    machine.breaks("select_agent", message="m", code="overloaded")
    machine.send("SKIP_STEP")
    assert (machine.state, machine.context.plan.current_step_index) == ("backing_off", 3)
    assert machine.send("SKIP_STEP").receipt is Receipt.DENIED


def test_a_step_is_skipped_while_its_work_is_judged() -> None:
    machine = with_plan(executing())
    machine.ends("execute_agent", outcome="success", summary="s")
    machine.send("SKIP_STEP")
    assert (machine.state, machine.context.plan.current_step_index) == ("selecting", 1)


@pytest.mark.parametrize("make", [selecting, executing, evaluating, backing_off])
def test_without_a_plan_there_is_nothing_to_skip(make: Any) -> None:
    assert make().send("SKIP_STEP").receipt is Receipt.DENIED


def test_retry_cuts_the_wait_short() -> None:
    """S3-024, C-28."""
    machine = backing_off()
    assert machine.send("RETRY").receipt is Receipt.TAKEN
    assert machine.state == "selecting"
    assert machine.send("RETRY").receipt is Receipt.NOT_HANDLED


def test_late_answers_are_dropped() -> None:
    machine = selecting()
    number = machine.machine.invocations["select_agent"].number
    machine.send("FORCE_AGENT", agent_name="reviewer")
    assert not machine.machine.complete_invocation("select_agent", number, SELECT)
    assert machine.context.current_mode == "reviewer"


# ---------------------------------------------------------------- snapshots


def test_a_restored_machine_goes_on_the_same() -> None:
    """S3-071, C-26: at every point of a run with everything in it."""
    script: list[Any] = [
        lambda m: m.send("START_TASK", task="Do it"),
        lambda m: m.breaks("select_agent", message="m", code="rate_limited"),
        lambda m: m.wait(60),
        lambda m: m.ends("select_agent", **SELECT),
        lambda m: m.tells("AGENT_WAITING"),
        lambda m: m.tells("AGENT_RESUMED"),
        lambda m: m.ends("execute_agent", outcome="success", summary="s", plan_updates=PLAN, messages=[said("x")]),
        lambda m: m.ends("evaluate_progress", type="CONTINUE", reason="r"),
        lambda m: m.send("FORCE_AGENT", agent_name="reviewer"),
        lambda m: m.wait(10),
        lambda m: m.send("CANCEL"),
        lambda m: m.ends("execute_agent", outcome="cancelled"),
    ]
    whole = Machine(seed=3)
    snapshots = [whole.machine.snapshot()]
    for step in script:
        step(whole)
        snapshots.append(whole.machine.snapshot())
    for index in range(len(script)):
        resumed = Machine(snapshots[index], seed=3)
        assert isinstance(resumed.machine.clock, SimulatedClock)
        resumed.machine.clock.time = snapshots[index]["now"]
        for step in script[index:]:
            step(resumed)
        assert resumed.output == whole.output
        assert resumed.state == "cancelled"

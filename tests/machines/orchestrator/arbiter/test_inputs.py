"""What the arbiter and the agents are given, and the machine's output."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rawko.interpreter.data.events import Event
from rawko.interpreter.data.freezing import freeze
from rawko.interpreter.data.values import Record, thaw
from rawko.machines.orchestrator.arbiter.inputs import (
    build_constraints,
    construct_evaluate_progress_input,
    construct_select_agent_input,
)
from rawko.machines.orchestrator.inputs import (
    evaluate_progress_input,
    execute_agent_input,
    run_output,
    select_agent_input,
)

MakeContext = Callable[..., Record]
MakeEvent = Callable[..., Event]
Run = Callable[..., dict[str, Any]]


def test_constraints_are_all_computed(context: MakeContext, run: Run) -> None:
    """S6-050, C-41, C-46."""
    runs = [run(started_at=0, completed_at=duration) for duration in (9_999, 100, 200, 300, 400, 500)]
    state = context(
        started_at=1_000,
        iteration_count=6,
        max_iterations=10,
        consecutive_failures=2,
        max_consecutive_failures=4,
        history=runs,
        usage={"input_tokens": 10, "output_tokens": 5, "cache_read_tokens": 3, "cache_write_tokens": 2},
    )
    assert build_constraints(state, now_ms=61_000).to_json() == {
        "max_iterations": 10,
        "current_iteration": 7,
        "iterations_remaining": 3,
        "consecutive_failures": 2,
        "max_consecutive_failures": 4,
        "estimated_tokens_used": 20,
        "time_elapsed_ms": 60_000,
        "estimated_time_remaining": 900,
    }


def test_constraints_before_anything_has_run(context: MakeContext) -> None:
    """C-41: no estimate without history; never below zero."""
    built = build_constraints(context(iteration_count=50), now_ms=0)
    assert (built.estimated_time_remaining, built.iterations_remaining, built.time_elapsed_ms) == (None, 0, 0)


def test_a_missing_display_name_falls_back_to_the_name(context: MakeContext) -> None:
    """S6-021, C-43."""
    agents = {"tester": {"name": "tester", "display_name": "", "when_to_use": "to test"}}
    [agent] = construct_select_agent_input(context(agents=agents), now_ms=0).available_agents
    assert (agent.display_name, agent.recent_performance) == ("tester", None)


def test_an_agent_that_has_run_is_told_of_with_its_performance(context: MakeContext, run: Run) -> None:
    """S6-051."""
    built = construct_select_agent_input(context(history=[run()]), now_ms=0)
    told = {agent.name: agent.recent_performance for agent in built.available_agents}
    assert told["planner"] is None
    assert told["developer"] is not None and told["developer"].success_rate == 100


def test_selection_sees_ten_and_evaluation_five(context: MakeContext, run: Run) -> None:
    """S6-031, S6-033, C-14."""
    state = context(history=[run(iteration=i, output="x" * 3000) for i in range(1, 13)])
    selecting = construct_select_agent_input(state, now_ms=0)
    judging = construct_evaluate_progress_input(state, now_ms=0)
    assert [s.iteration for s in selecting.history] == list(range(3, 13))
    assert [s.iteration for s in judging.history] == list(range(8, 13))
    assert selecting.history[0].output is not None and judging.last_execution.output is not None
    assert len(selecting.history[0].output.summary or "") == 300 + 3
    assert len(judging.last_execution.output.summary or "") == 500 + 3
    assert len(judging.last_execution.output.full or "") == 2000 + 3
    assert judging.last_execution.tokens is not None


def test_an_agents_own_context_settings_win(context: MakeContext, run: Run) -> None:
    """S6-110."""
    own = {"summary_chars": {"select": 4, "evaluate": 6}, "full_chars": 8, "history_select": 2, "history_evaluate": 1}
    agents = {"developer": {"name": "developer", "display_name": "", "when_to_use": "", "context": own}}
    state = context(agents=agents, history=[run(iteration=i, output="x" * 50) for i in range(1, 5)])
    selecting = construct_select_agent_input(state, now_ms=0)
    judging = construct_evaluate_progress_input(state, now_ms=0)
    assert [s.output.summary for s in selecting.history if s.output] == ["xxxx..."] * 2
    assert [s.output.summary for s in judging.history if s.output] == ["xxxxxx..."]
    assert judging.last_execution.output is not None and judging.last_execution.output.full == "x" * 8 + "..."


def test_nothing_can_be_evaluated_before_anything_ran(context: MakeContext) -> None:
    """C-41."""
    with pytest.raises(ValueError, match="history is empty"):
        construct_evaluate_progress_input(context(), now_ms=0)


def test_the_bound_inputs_hold_what_the_machine_knows(context: MakeContext, event: MakeEvent, run: Run) -> None:
    """S6-080, S6-010, S6-011: task, plan, history, last error, agents and limits, whoever asks."""
    plan = {"steps": [{"index": 1, "description": "first"}]}
    error = {"message": "boom", "category": "tool_failure"}
    runs = [run(iteration=1), run(iteration=2, output="the last")]
    state = context(task="Do it", plan=plan, history=runs, last_error=error, current_mode="planner")
    selecting, judging = select_agent_input(state, event("E")), evaluate_progress_input(state, event("E"))
    for given in (selecting, judging):
        assert given["task"] == "Do it"
        assert given["plan"]["steps"][0]["description"] == "first"
        assert [entry["iteration"] for entry in given["history"]] == [1, 2]
        assert {agent["name"] for agent in given["available_agents"]} == set(state.agents)
        assert given["constraints"]["max_iterations"] == state.max_iterations
    assert (selecting["last_error"]["message"], selecting["previous_agent"]) == ("boom", "planner")
    assert (judging["last_execution"]["iteration"], judging["last_execution"]["output"]["full"]) == (2, "the last")


def test_the_bound_inputs_are_json(context: MakeContext, event: MakeEvent, run: Run) -> None:
    """C-26, S6-080."""
    state = context(task="t", history=[run()])
    for given in (select_agent_input(state, event("E")), evaluate_progress_input(state, event("E"))):
        assert thaw(freeze(given)) == given


def running(context: MakeContext, agent: str = "developer", carry: str = "summary", **fields: Any) -> Record:
    described = {"name": agent, "display_name": "", "when_to_use": "", "context": {"carry_messages": carry}}
    return context(current_mode=agent, current_agent=described, task="t", iteration_count=2, seed=7, **fields)


def said(agent: str, text: str, role: str = "assistant") -> dict[str, Any]:
    message = {"role": role, "content": [{"type": "text", "text": text}]}
    return {"agent": agent, "iteration": 1, "message": message}


CALL = {"type": "tool_use", "id": "c1", "name": "bash", "input": {}}


@pytest.mark.parametrize(
    ("history", "messages", "carry", "start", "handover"),
    [
        ([], [], "summary", "fresh", 0),
        (["developer"], [("developer", "hi")], "summary", "resume", 0),
        (["developer"], [("developer", "hi")], "none", "resume", 0),
        (["planner"], [("planner", "hi")], "summary", "fresh", 1),
        (["planner"], [("planner", "hi")], "none", "fresh", 0),
        (["planner"], [("planner", "hi")], "all", "inherit", 0),
        (["developer", "planner"], [("planner", "hi")], "summary", "fresh", 2),
        # The same agent's run failed before it said anything: nothing to resume.
        (["developer"], [], "summary", "fresh", 1),
    ],
)
def test_which_conversation_an_agent_goes_on_with(
    context: MakeContext, event: MakeEvent, run: Run,
    history: list[str], messages: list[tuple[str, str]], carry: str, start: str, handover: int,
) -> None:  # fmt: skip
    """C-35."""
    state = running(
        context,
        carry=carry,
        history=[run(agent=agent) for agent in history],
        messages=[said(*message) for message in messages],
    )
    given = execute_agent_input(state, event("E"))
    assert given["start"] == start
    assert len(given["messages"]) == (0 if start == "fresh" else len(messages))
    assert len(given["handover"]) == handover


def test_only_the_tail_of_the_messages_is_resumed(context: MakeContext, event: MakeEvent, run: Run) -> None:
    """C-35: what others said before is not this conversation."""
    state = running(
        context,
        history=[run(agent="planner"), run()],
        messages=[said("planner", "old"), said("developer", "mine")],
        conversation_start=1,
    )
    given = execute_agent_input(state, event("E"))
    assert thaw(given["messages"]) == [said("developer", "mine")["message"]]


def test_an_unanswered_tool_call_cannot_be_resumed(context: MakeContext, event: MakeEvent, run: Run) -> None:
    """AL-080: the endpoint would refuse it."""
    open_call = {"agent": "developer", "iteration": 1, "message": {"role": "assistant", "content": [CALL]}}
    given = execute_agent_input(running(context, history=[run()], messages=[open_call]), event("E"))
    assert (given["start"], given["messages"]) == ("fresh", [])


def test_a_run_is_told_what_it_is_about(context: MakeContext, event: MakeEvent) -> None:
    """S3-032."""
    decision = {"type": "SELECT_MODE", "mode": "developer", "reason": "code is needed"}
    given = execute_agent_input(running(context, last_arbiter_decision=decision), event("E"))
    assert given["agent"].name == "developer"
    assert (given["task"], given["plan"], given["iteration"]) == ("t", None, 2)
    assert (given["reason"], given["seed"]) == ("code is needed", 9)


@pytest.mark.parametrize(
    ("fields", "summary", "error"),
    [
        ({"outcome": "success", "last_arbiter_decision": {"type": "COMPLETE", "summary": "ok"}}, "ok", None),
        ({"outcome": "limit", "last_arbiter_decision": {"type": "COMPLETE", "summary": "Max iterations reached"}},
         "Max iterations reached", None),
        ({"outcome": "failure", "last_error": {"message": "boom", "category": "unknown"}}, "boom", "boom"),
        ({"outcome": "failure", "last_arbiter_decision": {"type": "ABORT", "reason": "hopeless"}}, "hopeless", None),
        ({"outcome": "failure"}, "", None),
        ({"outcome": "success"}, "", None),
        ({"outcome": "cancelled"}, "Task cancelled", None),
    ],
)  # fmt: skip
def test_the_output_says_how_it_ended(
    context: MakeContext, event: MakeEvent, fields: dict[str, Any], summary: str, error: str | None
) -> None:
    """C-04."""
    output = run_output(context(iteration_count=3, **fields), event("E"))
    assert (output["outcome"], output["summary"], output["iterations"]) == (fields["outcome"], summary, 3)
    assert (output["error"] and output["error"].message) == error


def test_the_output_lists_changed_files_once(context: MakeContext, event: MakeEvent, run: Run) -> None:
    """C-48."""
    state = context(history=[run(files_changed=["b", "a"]), run(files_changed=["a"])], started_at=5)
    output = run_output(state, event("E", at_ms=99))
    assert (output["files_changed"], output["started_at"], output["completed_at"]) == (["a", "b"], 5, 99)
    assert len(output["history"]) == 2

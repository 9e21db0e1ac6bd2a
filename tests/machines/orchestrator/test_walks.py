"""Random walks: whatever the arbiter decides, the agents do and people send, the machine keeps its promises."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from rawko.chart import load_chart, shipped_path
from rawko.interpreter.clocks import SimulatedClock
from rawko.interpreter.data.values import thaw
from rawko.interpreter.running.interpreter import Interpreter
from rawko.machines.orchestrator import bindings
from rawko.machines.orchestrator.arbiter.decision import DECISION_TYPES

CHART = load_chart(shipped_path("statecharts") / "orchestrator.yaml")
AGENTS = {name: {"name": name, "display_name": "", "when_to_use": ""} for name in ("planner", "developer")}
MAX_ITERATIONS = 4
MAX_FAILURES = 3

names = st.sampled_from(["planner", "developer", "ghost", "", None])
decisions = st.fixed_dictionaries(
    {"type": st.sampled_from(DECISION_TYPES), "mode": names},
    optional={"reason": st.text(max_size=3), "summary": st.text(max_size=3), "usage": st.just({"input_tokens": 1})},
)
patches = st.sampled_from([
    None,
    {"steps": [{"description": "a"}, {"description": "b"}]},
    {"step_updates": [{"index": 1, "status": "complete"}]},
    {"current_step_index": 9},
])  # fmt: skip
messages = st.lists(
    st.sampled_from([
        {"role": "user", "content": [{"type": "text", "text": "u"}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "bash", "input": {}}]},
    ]),
    max_size=2,
)  # fmt: skip
results = st.fixed_dictionaries(
    {"outcome": st.sampled_from(["success", "failure", "limit", "cancelled"])},
    optional={"summary": st.text(max_size=3), "plan_updates": patches, "messages": messages},
)
errors = st.fixed_dictionaries(
    {"message": st.text(max_size=3)},
    optional={
        "category": st.sampled_from(["tool_failure", "timeout", "permission_error", "unknown", "validation_error"]),
        "code": st.sampled_from(["rate_limited", "billing", "overloaded", "nonsense"]),
        "retry_after_ms": st.integers(0, 10**7),
    },
)
people = st.sampled_from(["CANCEL", "SKIP_STEP", "RETRY", "FORCE_AGENT", "START_TASK", "AGENT_WAITING"])
steps = st.one_of(
    st.tuples(st.just("decide"), decisions),
    st.tuples(st.just("finish"), results),
    st.tuples(st.just("fail"), errors),
    st.tuples(st.just("send"), people),
    st.tuples(st.just("wait"), st.sampled_from([0.1, 10, 60, 600])),
)


def play(machine: Interpreter, kind: str, what: Any) -> None:
    """One step, where it means something: an actor answers only while it runs."""
    running = next(iter(machine.invocations.values()), None)
    match kind:
        case "send":
            machine.send(what, task="t", agent_name="planner")
        case "wait":
            machine.advance(what)
        case "fail" if running is not None:
            machine.fail_invocation(running.id, running.number, what)
        case "finish" if running is not None and running.id == "execute_agent":
            machine.complete_invocation(running.id, running.number, what)
        case "decide" if running is not None and running.id != "execute_agent":
            machine.complete_invocation(running.id, running.number, what)
    machine.execute()


def check(machine: Interpreter) -> None:
    context: Any = machine.context
    assert context.iteration_count <= MAX_ITERATIONS
    assert context.consecutive_failures <= MAX_FAILURES
    assert context.consecutive_failures <= context.total_failures
    running = int(machine.matches("executing"))
    assert len(context.history) == context.iteration_count - running
    assert [entry.iteration for entry in context.history] == list(range(1, len(context.history) + 1))
    assert context.conversation_start <= len(context.messages)
    assert all(entry.started_at <= entry.completed_at for entry in context.history)
    waits_for_itself = machine.next_due() is not None or machine.invocations
    assert waits_for_itself or machine.final or machine.matches("idle")


@settings(max_examples=80, deadline=None)
@given(st.lists(steps, max_size=30), st.integers(0, 5))
def test_every_walk_stays_within_its_bounds(walk: list[tuple[str, Any]], seed: int) -> None:
    """C-03, C-13, C-24, C-29, C-31, C-32: bounded iterations and failures, one history entry for each run, and never
    a state in which nothing can happen."""
    given_input = {"agents": AGENTS, "max_iterations": MAX_ITERATIONS, "seed": seed}
    machine = Interpreter(CHART, bindings, input=given_input, clock=SimulatedClock())
    machine.send("START_TASK", task="t")
    for kind, what in walk:
        play(machine, kind, what)
        check(machine)
    if machine.final:
        output = thaw(machine.output)
        final = {"success": "complete", "limit": "complete", "failure": "failed", "cancelled": "cancelled"}
        assert machine.matches(final[output["outcome"]])
        assert isinstance(output["summary"], str)

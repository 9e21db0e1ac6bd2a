"""One attempt of one node: ports, policies, and every way in which a handler can go wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rawko.chart import find_chart, load_chart
from rawko.interpreter.running.interpreter import Interpreter
from rawko.machines.node_engine import (
    Adapters,
    EngineResult,
    NodeCall,
    NodeEngineContext,
    NodeOutcome,
    NodePolicy,
    NodeRegistry,
    Policies,
    Port,
    RetryPolicy,
    RunState,
    StopCheck,
    bindings,
    failed,
    parse_policies,
    succeeded,
)
from rawko.machines.node_engine.drivers.choice import DRIVERS, DriverName, make_driver
from rawko.machines.node_engine.drivers.setup import RunSetup, set_up
from rawko.machines.node_engine.engine import NodeEngine
from rawko.machines.node_engine.errors import DuplicateNode, MissingInput, MissingPort, UnknownNode
from rawko.machines.node_engine.policies import applied, backoff_delay_ms
from rawko.machines.node_engine.ports import NodeEnginePorts
from rawko.testing.actor import create_test_actor
from rawko.vocabulary.documents import DocumentError

STATE = RunState(node_name="perceive", step_ordinal=4, data={"seen": 1}, path=("launch",))


class Screen(Protocol):
    def read(self) -> str: ...


class Paper:
    def read(self) -> str:
        return "splash"


SCREEN = Port[Screen]("screen")
KEYS = Port[Screen]("keys")


def registry(handler: Callable[[NodeCall], Any], ports: tuple[Port[Any], ...] = ()) -> NodeRegistry:
    nodes = NodeRegistry()
    nodes.node("perceive", ports=ports)(handler)

    @nodes.node()
    async def launch(call: NodeCall) -> NodeOutcome:
        return succeeded("perceive")

    return nodes


async def attempt(handler: Callable[[NodeCall], Any], policies: Policies | None = None, **more: Any) -> EngineResult:
    engine = NodeEngine(registry(handler, more.pop("ports", ())), policies, **more)
    adapters = Adapters().bound(SCREEN, Paper()).bound(KEYS, Paper())
    return await engine.run_once("perceive", STATE, adapters, {"who": "me"}, 7)


NO_RETRY = Policies(default=NodePolicy(retry=RetryPolicy(max_retries=0)))

# ---------------------------------------------------------------- what a node is given and gives


async def test_a_node_is_given_its_state_its_ports_and_its_chance() -> None:
    calls = []

    async def perceive(call: NodeCall) -> NodeOutcome:
        calls.append(call)
        return succeeded(data={"text": call.port(SCREEN).read()}, events=[{"type": "SEEN"}], tokens=3)

    result = await attempt(perceive, ports=(SCREEN,))
    assert (result.outcome, result.data, result.tokens) == ("SUCCESS", {"text": "splash"}, 3)
    assert result.events == ({"type": "SEEN"},)
    (call,) = calls
    assert (call.node, call.state, call.ctx, call.seed) == ("perceive", STATE, {"who": "me"}, 7)
    assert call.chance() == call.chance() != call.chance("other")
    assert 0 <= call.chance() < 1
    assert call.replay_id("x") == call.replay_id("x") != call.replay_id("y")


async def test_a_node_sees_no_port_that_it_has_not_declared() -> None:
    async def perceive(call: NodeCall) -> NodeOutcome:
        return succeeded(data={"text": call.port(KEYS).read()})

    result = await attempt(perceive, ports=(SCREEN,))
    assert result.outcome == "FAILURE"
    assert result.next_node is None, "a node that is wrong is not tried again"
    assert result.error is not None
    assert "port 'keys' has no adapter" in result.error.message


# ---------------------------------------------------------------- what handlers do wrong


async def raises(call: NodeCall) -> NodeOutcome:
    raise OSError("no such program")


async def answers_nothing(call: NodeCall) -> None:
    return None


def is_not_async(call: NodeCall) -> NodeOutcome:
    return succeeded()


async def never_ends(call: NodeCall) -> NodeOutcome:
    await asyncio.sleep(3600)
    return succeeded()


async def times_out_itself(call: NodeCall) -> NodeOutcome:
    raise TimeoutError("no prompt")


async def goes_nowhere(call: NodeCall) -> NodeOutcome:
    return succeeded("lanch")


async def spends_less_than_nothing(call: NodeCall) -> NodeOutcome:
    return succeeded(tokens=-1)


async def asks_for_a_negative_wait(call: NodeCall) -> NodeOutcome:
    return failed("busy", retry_after_ms=-5, events=[{"type": "BUSY"}])


async def tells_no_mapping(call: NodeCall) -> NodeOutcome:
    return succeeded(events=["SEEN"])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("handler", "category", "said", "is_retryable"),
    [
        (raises, "tool_failure", "node 'perceive': OSError: no such program", True),
        (answers_nothing, "validation_error", "answered None; accepted: succeeded(...) or failed(...)", False),
        (is_not_async, "tool_failure", "TypeError", True),
        (never_ends, "timeout", "did not end within 20 ms", True),
        (times_out_itself, "timeout", "TimeoutError: no prompt", True),
        (goes_nowhere, "validation_error", "no node 'lanch' (the next node of 'perceive')", False),
        (spends_less_than_nothing, "validation_error", "answered nonsense", False),
        (tells_no_mapping, "validation_error", "answered nonsense", False),
    ],
)  # fmt: skip
async def test_whatever_a_handler_does_is_a_failure_of_the_attempt(
    handler: Callable[[NodeCall], Any], category: str, said: str, is_retryable: bool
) -> None:
    result = await attempt(handler, Policies(default=NodePolicy(timeout_ms=20)))
    assert result.outcome == "FAILURE"
    assert result.error is not None
    assert result.error.category == category
    assert said in result.error.message
    assert (result.next_node, result.is_retryable) == ("perceive" if is_retryable else None, is_retryable)


async def test_a_wish_to_wait_less_than_nothing_is_no_wish() -> None:
    result = await attempt(asks_for_a_negative_wait)
    assert result.retry_delay_ms is not None
    assert result.retry_delay_ms >= 0


async def test_an_unknown_node_is_an_error_of_the_caller() -> None:
    engine = NodeEngine(registry(raises))
    with pytest.raises(UnknownNode) as caught:
        await engine.run_once("percieve", STATE, Adapters(), {}, 7)
    assert str(caught.value) == "no node 'percieve'; did you mean 'perceive'? nodes: 'launch', 'perceive'"


# ---------------------------------------------------------------- policies


async def fails(call: NodeCall) -> NodeOutcome:
    return failed("no")


async def test_the_engine_decides_retry_then_elsewhere_then_back_then_nothing() -> None:
    first = await attempt(fails)
    assert (first.next_node, first.backtracked) == ("perceive", False)
    assert first.retry_delay_ms is not None
    assert 500 <= first.retry_delay_ms <= 1_000
    own = NodePolicy(retry=RetryPolicy(max_retries=0), can_backtrack=True)
    fallback = own.model_copy(update={"on_failure": "launch"})
    elsewhere = await attempt(fails, Policies(nodes={"perceive": fallback}))
    assert (elsewhere.next_node, elsewhere.retry_delay_ms, elsewhere.backtracked) == ("launch", None, False)
    back = await attempt(fails, Policies(nodes={"perceive": own}))
    assert (back.next_node, back.retry_delay_ms, back.backtracked) == ("launch", None, True)
    nothing = await attempt(fails, NO_RETRY)
    assert (nothing.outcome, nothing.next_node) == ("FAILURE", None)


async def test_an_engine_that_leaves_it_to_the_chart_says_only_what_the_node_says() -> None:
    result = await attempt(fails, policy="chart")
    assert (result.outcome, result.next_node, result.retry_delay_ms) == ("FAILURE", None, None)


async def test_where_a_success_leads_is_the_nodes_word_else_the_policys() -> None:
    async def says(call: NodeCall) -> NodeOutcome:
        return succeeded("launch")

    async def leaves_it(call: NodeCall) -> NodeOutcome:
        return succeeded()

    policies = Policies(default=NodePolicy(on_success="perceive"))
    assert (await attempt(says, policies)).next_node == "launch"
    assert (await attempt(leaves_it, policies)).next_node == "perceive"
    assert (await attempt(leaves_it)).next_node is None


@given(st.integers(1, 40), st.integers(0, 10_000), st.integers(0, 100_000), st.one_of(st.integers(), st.text()))
def test_backoff_doubles_never_above_its_cap_and_is_settled_by_the_seed(
    retry: int, base: int, more: int, seed: int | str
) -> None:
    policy = NodePolicy(retry=RetryPolicy(base_ms=base, cap_ms=base + more))
    delay = backoff_delay_ms(STATE, policy, retry=retry, seed=seed)
    full = min(base + more, base * 2 ** (retry - 1))
    assert full // 2 <= delay <= full
    assert delay == backoff_delay_ms(STATE, policy, retry=retry, seed=seed)


def test_what_is_decided_already_is_left_alone() -> None:
    for result in (
        EngineResult(outcome="SUCCESS"),
        EngineResult(outcome="FAILURE", next_node="launch"),
        EngineResult(),
    ):
        assert applied(result, STATE, Policies(), 7) is result


POLICIES = """
default:
  retry: {max_retries: 2, base_ms: 100, cap_ms: 400}
max_backtracks: 5
nodes:
  launch: {on_success: perceive, timeout_ms: 5000}
  perceive: {can_backtrack: true, backtrack_to: launch}
"""


def test_policies_are_read_from_yaml() -> None:
    policies = parse_policies(POLICIES)
    assert policies.default.retry == RetryPolicy(max_retries=2, base_ms=100, cap_ms=400)
    assert policies.nodes["launch"].on_success == "perceive"
    assert policies.nodes["launch"].retry == RetryPolicy(), "a node that has its own takes nothing from the default"
    assert policies.max_backtracks == 5


def test_policies_may_say_none_at_all_and_at_once() -> None:
    text = "default: {retry: {max_retries: 0, base_ms: 0, cap_ms: 0}}\nmax_backtracks: 0"
    policies = parse_policies(text)
    assert policies.default.retry == RetryPolicy(max_retries=0, base_ms=0, cap_ms=0)
    assert policies.max_backtracks == 0
    with pytest.raises(DocumentError, match="max_retries"):
        parse_policies("default: {retry: {max_retries: -1}}")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("default: {retri: {}}", "policies:1:11: unknown key 'retri'; did you mean 'retry'?"),
        ("default: {retry: {base_ms: 1s}}", "accepted: a whole number"),
        ("default: {retry: {base_ms: -1}}", "greater than or equal to 0"),
        ("default: {retry: {base_ms: .nan}}", ".nan is not a JSON number"),
        ("default: {retry: {base_ms: 9, cap_ms: 3}}", "cap_ms 3 is below base_ms 9"),
        ("default: {backtrack_to: launch}", "can_backtrack is not true"),
        ("nodes: [launch]", "accepted: a mapping"),
    ],
)
def test_policies_that_are_wrong_are_refused_with_their_place(text: str, said: str) -> None:
    with pytest.raises(DocumentError) as caught:
        parse_policies(text)
    assert said in str(caught.value)


# ---------------------------------------------------------------- what is checked before a run


def context(**fields: Any) -> NodeEngineContext:
    return NodeEngineContext.model_validate({"seed": 1, "node_name": "launch", **fields})


@pytest.mark.parametrize("missing", ["seed", "node_name"])
def test_a_run_without_a_seed_or_a_first_node_is_refused(missing: str) -> None:
    given = {name: value for name, value in {"seed": 1, "node_name": "launch"}.items() if name != missing}
    with pytest.raises(MissingInput, match=f"the context has no '{missing}'; accepted"):
        set_up(registry(raises), NodeEngineContext.model_validate(given))


@pytest.mark.parametrize("driver", DRIVERS)
async def test_a_run_without_a_seed_fails_before_it_does_anything(driver: DriverName) -> None:
    calls: list[str] = []

    async def should_stop() -> StopCheck:
        calls.append("should_stop")
        return StopCheck()

    told: list[str] = []
    ports = NodeEnginePorts(NodeEngine(registry(raises)), should_stop=should_stop)
    unseeded = RunSetup(NodeEngineContext(node_name="launch"), ports, observe=lambda event, data: told.append(event))
    report = await make_driver(unseeded, driver).run()
    assert (report.outcome, report.reason, calls, told) == ("failed", "missing_input", [], ["RUN_ENDED"])
    assert report.error is not None
    assert report.error.message.startswith("the input lacks 'seed'; accepted")


def test_the_machine_can_be_looked_at_without_input() -> None:
    chart = load_chart(find_chart("node_engine"))
    machine = Interpreter(chart, bindings)
    machine.start()
    assert machine.matches("idle")
    assert create_test_actor(chart, bindings).matches("idle")


def test_a_run_that_begins_nowhere_is_refused() -> None:
    with pytest.raises(UnknownNode, match=r"no node 'lunch' \(the first node\); did you mean 'launch'"):
        set_up(registry(raises), context(node_name="lunch"))


def test_a_node_without_its_port_is_refused() -> None:
    nodes = registry(raises, (SCREEN, KEYS))
    adapters = Adapters().bound(SCREEN, Paper())
    with pytest.raises(MissingPort, match=r"port 'keys' of node 'perceive' has no adapter; bound: 'screen'") as caught:
        set_up(nodes, context(), adapters=adapters)
    assert (caught.value.port, caught.value.node) == ("keys", "perceive")
    set_up(nodes, context(), adapters=adapters.bound(KEYS, Paper()))


@pytest.mark.parametrize(
    ("policies", "where"),
    [
        (Policies(nodes={"lanch": NodePolicy()}), "a policy"),
        (Policies(nodes={"launch": NodePolicy(on_success="lanch")}), "on_success of the policy of 'launch'"),
        (Policies(default=NodePolicy(on_failure="lanch")), "on_failure of the policy of 'default'"),
        (
            Policies(default=NodePolicy(can_backtrack=True, backtrack_to="lanch")),
            "backtrack_to of the policy of 'default'",
        ),
    ],
)
def test_policies_of_unknown_nodes_are_refused(policies: Policies, where: str) -> None:
    with pytest.raises(UnknownNode) as caught:
        set_up(registry(raises), context(policies=policies))
    assert (caught.value.name, caught.value.where) == ("lanch", where)


def test_a_node_is_registered_once() -> None:
    nodes = registry(raises)
    with pytest.raises(DuplicateNode, match="node 'launch' is registered twice"):
        nodes.node("launch")(raises)
    assert ("launch" in nodes, len(nodes)) == (True, 2)


def test_a_name_has_at_least_one_letter() -> None:
    assert EngineResult(outcome="SUCCESS", next_node="a").next_node == "a"
    assert NodePolicy(on_failure="b", can_backtrack=True, backtrack_to="c").on_failure == "b"
    for made in (lambda: EngineResult(outcome="SUCCESS", next_node=""), lambda: NodePolicy(on_success="")):
        with pytest.raises(ValueError, match="at least 1 character"):
            made()

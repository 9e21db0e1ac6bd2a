"""The actors: what they ask the provider, what they make of its answers. The provider is the scripted one."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from rawko.chart.definition import Chart
from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.events import Event
from rawko.interpreter.data.freezing import freeze
from rawko.interpreter.data.values import Record, thaw
from rawko.machines import orchestrator
from rawko.machines.agent_result import finished_run
from rawko.machines.orchestrator.actors import OrchestratorPorts, _has_open_step, actors
from rawko.machines.orchestrator.arbiter.decision import decision_schema
from rawko.machines.orchestrator.arbiter.prompt import PLACEHOLDERS
from rawko.machines.orchestrator.executor import child_input
from rawko.machines.orchestrator.inputs import evaluate_progress_input, execute_agent_input, select_agent_input
from rawko.machines.prompts.prompts import Prompts
from rawko.providers.scripted.provider import ScriptedProvider
from rawko.providers.scripted.scenario_file import parse_scenario
from rawko.runtime.actor_kinds import ActorFailed, ChildFactory
from rawko.runtime.ports import ModelRequest, StreamEvent, TurnDone
from rawko.vocabulary.snapshot import FileChange

MakeContext = Callable[..., Record]
MakeEvent = Callable[..., Event]
Run = Callable[..., dict[str, Any]]

GOOD = {"type": "SELECT_MODE", "mode": "developer", "reason": "code is needed"}
COST = {"input_tokens": 10, "output_tokens": 5}


class Recorded:
    """A provider that passes on to another and remembers what it was asked."""

    name = "recorded"

    def __init__(self, *replies: dict[str, Any]) -> None:
        self._inner = ScriptedProvider(parse_scenario(json.dumps({"scenario": "test", "replies": list(replies)})))
        self.requests: list[ModelRequest] = []

    def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        return self._inner.stream(request)

    async def create(self, request: ModelRequest) -> TurnDone:
        self.requests.append(request)
        return await self._inner.create(request)

    async def aclose(self) -> None:
        await self._inner.aclose()

    def unused(self) -> tuple[str, ...]:
        return self._inner.unused()


class Talk:
    """What an actor's scope was told."""

    id, number, attempt = "select_agent", 1, 1

    def __init__(self) -> None:
        self.logged: list[tuple[str, str]] = []

    def send_parent(self, event: str, /, **data: Any) -> None:
        raise AssertionError("the arbiter sends its parent nothing")

    def emit(self, event: str, /, **data: Any) -> None:
        raise AssertionError("the arbiter emits nothing")

    def log(self, message: str, /, level: str = "info", **data: Any) -> None:
        self.logged.append((level, message))


def no_machine(chart: str) -> tuple[Chart, Bindings]:
    raise AssertionError("the arbiter runs no machine")


def ports(provider: Recorded) -> OrchestratorPorts:
    return OrchestratorPorts(provider, "model-1", Prompts.load("orchestrator", PLACEHOLDERS), no_machine, 60_000)


def reply(purpose: str, answer: Any, **more: Any) -> dict[str, Any]:
    told = {"text": answer} if isinstance(answer, str) else {"decision": answer}
    return {"purpose": purpose, **told, "usage": COST, **more}


async def ask(provider: Recorded, actor: str, given: Mapping[str, Any], scope: Talk | None = None) -> Any:
    """The actor's answer; the input is frozen, as the interpreter hands it over."""
    return await actors(ports(provider)).get("actor", actor)(freeze(given), scope or Talk())


@pytest.fixture
def selecting(context: MakeContext, event: MakeEvent) -> dict[str, Any]:
    return select_agent_input(context(task="Do it"), event("E"))


@pytest.fixture
def retrying(context: MakeContext, event: MakeEvent, run: Run) -> dict[str, Any]:
    return select_agent_input(context(task="Do it", current_mode="planner", history=[run(agent="planner")]), event("E"))


@pytest.fixture
def judging(context: MakeContext, event: MakeEvent, run: Run) -> dict[str, Any]:
    return evaluate_progress_input(context(task="Do it", history=[run(output="did it")]), event("E"))


async def test_the_arbiter_chooses_an_agent(selecting: dict[str, Any]) -> None:
    """S3-060."""
    provider = Recorded(reply("select", GOOD))
    answer = await ask(provider, "arbiter_select_agent", selecting)
    assert (answer["type"], answer["mode"], answer["reason"]) == ("SELECT_MODE", "developer", "code is needed")
    assert answer["agent"]["display_name"] == "Development Agent"
    assert answer["decision"]["mode"] == "developer"
    assert (answer["usage"]["input_tokens"], answer["usage"]["calls"]) == (10, 1)


async def test_what_the_model_is_asked(selecting: dict[str, Any]) -> None:
    """S6-113: prompt and schema both."""
    provider = Recorded(reply("select", GOOD))
    await ask(provider, "arbiter_select_agent", selecting)
    [request] = provider.requests
    assert (request.purpose, request.model, request.timeout_ms, request.tools) == ("select", "model-1", 60_000, ())
    assert request.output_schema == decision_schema(["planner", "developer"])
    assert request.system.startswith("You are the arbiter")
    [message] = request.messages
    assert "Do it" in message.text and message.role == "user"


async def test_the_arbiter_judges(judging: dict[str, Any]) -> None:
    """S3-065."""
    provider = Recorded(reply("evaluate", {"type": "COMPLETE", "summary": "all done"}))
    answer = await ask(provider, "arbiter_evaluate", judging)
    assert (answer["type"], answer["summary"], answer["mode"]) == ("COMPLETE", "all done", None)
    assert "did it" in provider.requests[0].messages[0].text


async def test_the_arbiter_judges_the_last_of_several_runs(context: MakeContext, event: MakeEvent, run: Run) -> None:
    """S3-065, S6-023: whole, while earlier runs stand in the history cut down."""
    runs = [run(iteration=1, output="a" * 900), run(iteration=2, output="b" * 900)]
    given = evaluate_progress_input(context(task="Do it", history=runs), event("E"))
    provider = Recorded(reply("evaluate", {"type": "CONTINUE", "reason": "going well"}))
    await ask(provider, "arbiter_evaluate", given)
    asked = provider.requests[0].messages[0].text
    assert "b" * 900 in asked
    assert "a" * 501 not in asked and "a" * 500 + "..." in asked


async def test_a_judge_may_name_an_agent_that_is_not_there(judging: dict[str, Any]) -> None:
    """C-01: the chart sends it to selecting."""
    provider = Recorded(reply("evaluate", {"type": "SELECT_MODE", "mode": "ghost", "reason": "r"}))
    assert (await ask(provider, "arbiter_evaluate", judging))["mode"] == "ghost"


async def test_a_malformed_decision_is_asked_for_again(selecting: dict[str, Any]) -> None:
    """C-39: quoting what was wrong; every try is counted."""
    talk = Talk()
    provider = Recorded(reply("select", "Let us go on."), reply("select", {"type": "DANCE"}), reply("select", GOOD))
    answer = await ask(provider, "arbiter_select_agent", selecting, talk)
    assert (answer["mode"], answer["usage"]["input_tokens"], answer["usage"]["calls"]) == ("developer", 30, 3)
    last = provider.requests[-1].messages
    assert [message.role for message in last] == ["user", "assistant", "user", "assistant", "user"]
    assert "'Let us go on.' is not JSON" in last[2].text
    assert "type is 'DANCE'" in last[4].text
    assert [level for level, _ in talk.logged] == ["warning", "warning"]


async def test_a_fenced_decision_needs_no_second_question(selecting: dict[str, Any]) -> None:
    provider = Recorded(reply("select", f"```json\n{json.dumps(GOOD)}\n```"))
    assert (await ask(provider, "arbiter_select_agent", selecting))["mode"] == "developer"


async def test_three_malformed_decisions_are_a_failure(selecting: dict[str, Any]) -> None:
    """C-39: at most two re-asks, then a validation_error with the tokens of all three."""
    provider = Recorded(*[reply("select", "no")] * 4)
    with pytest.raises(ActorFailed) as caught:
        await ask(provider, "arbiter_select_agent", selecting)
    error = caught.value.error
    assert (error["category"], error["agent"], error["usage"]["calls"]) == ("validation_error", "arbiter", 3)
    assert "no usable decision in 3 answers" in error["message"] and "'no' is not JSON" in error["message"]
    assert len(provider.unused()) == 1


async def test_an_empty_answer_is_not_sent_back(selecting: dict[str, Any]) -> None:
    """An endpoint refuses an assistant message without content."""
    provider = Recorded(reply("select", "  "), reply("select", GOOD))
    await ask(provider, "arbiter_select_agent", selecting)
    assert [message.role for message in provider.requests[-1].messages] == ["user", "user"]


async def test_an_unknown_agent_is_a_failure_at_once(selecting: dict[str, Any]) -> None:
    """S3-060: well-formed, so it is not asked for again."""
    provider = Recorded(reply("select", {**GOOD, "mode": "ghost"}), reply("select", GOOD))
    with pytest.raises(ActorFailed) as caught:
        await ask(provider, "arbiter_select_agent", selecting)
    assert caught.value.error["message"] == "Arbiter selected unknown agent: ghost"
    assert (caught.value.error["category"], caught.value.error["usage"]["calls"]) == ("validation_error", 1)


@pytest.mark.parametrize("kind", ["RETRY", "CONTINUE"])
async def test_again_means_the_agent_before(retrying: dict[str, Any], kind: str) -> None:
    """C-02: mode defaults to the current mode; the decision itself stays as it was."""
    answer = await ask(Recorded(reply("select", {"type": kind, "reason": "r"})), "arbiter_select_agent", retrying)
    assert (answer["type"], answer["mode"], answer["agent"]["name"]) == (kind, "planner", "planner")
    assert answer["decision"]["mode"] is None


async def test_again_with_nobody_before_is_a_failure(selecting: dict[str, Any]) -> None:
    """C-02."""
    with pytest.raises(ActorFailed, match="none has worked yet") as caught:
        await ask(Recorded(reply("select", {"type": "RETRY", "reason": "r"})), "arbiter_select_agent", selecting)
    assert caught.value.error["category"] == "validation_error"


@pytest.mark.parametrize("kind", ["COMPLETE", "ABORT"])
async def test_an_end_names_no_agent(retrying: dict[str, Any], kind: str) -> None:
    """C-02, C-28."""
    decision = {"type": kind, "reason": "r", "summary": "s", "mode": "developer"}
    answer = await ask(Recorded(reply("select", decision)), "arbiter_select_agent", retrying)
    assert (answer["type"], answer["mode"], answer["agent"]) == (kind, None, None)


async def test_a_providers_failure_keeps_its_code(selecting: dict[str, Any]) -> None:
    """C-18, C-24."""
    failure = {"purpose": "select", "error": {"code": "rate_limited", "message": "slow down", "retry_after": "7s"}}
    with pytest.raises(ActorFailed) as caught:
        await ask(Recorded(reply("select", "no"), failure), "arbiter_select_agent", selecting)
    error = caught.value.error
    assert (error["category"], error["code"]) == ("provider_error", "rate_limited")
    assert (error["retry_after_ms"], error["message"]) == (7_000, "slow down")
    assert error["usage"]["input_tokens"] >= 10  # of the try before


async def test_a_refusal_is_a_providers_failure(selecting: dict[str, Any]) -> None:
    """C-38."""
    provider = Recorded(reply("select", "I will not.", stop_reason="refusal"))
    with pytest.raises(ActorFailed) as caught:
        await ask(provider, "arbiter_select_agent", selecting)
    assert (caught.value.error["code"], caught.value.error["usage"]["calls"]) == ("refusal", 1)


def test_the_actors_are_those_that_the_bindings_expect() -> None:
    bound = actors(ports(Recorded(reply("select", GOOD))))
    assert bound.names("actor") == orchestrator.bindings.names("actor")
    assert (orchestrator.bindings | bound).names("actor") == bound.names("actor")


# ---------------------------------------------------------------- the agent's machine


def executing(context: MakeContext, event: MakeEvent, **fields: Any) -> Any:
    developer = {"name": "developer", "display_name": "", "when_to_use": "", "limits": {"turns": 3}}
    state = context(current_mode="developer", current_agent=developer, task="Do it", iteration_count=1, **fields)
    return freeze(execute_agent_input(state, event("E")))


@pytest.mark.parametrize(("place", "is_open"), [(0, True), (1, True), (2, False)])
def test_a_step_can_be_skipped_where_the_plan_has_one(place: int, is_open: bool) -> None:
    steps = [{"index": 1, "description": "a"}, {"index": 2, "description": "b"}]
    assert _has_open_step({"steps": steps, "current_step_index": place}) is is_open
    assert not _has_open_step(None)


def test_a_first_run_gets_the_initial_prompt(context: MakeContext, event: MakeEvent) -> None:
    """S3-063."""
    prompts = Prompts.load("orchestrator", PLACEHOLDERS)
    given = child_input(executing(context, event), prompts)
    assert given["prompt"].startswith("Work on the task") and "Do it" in given["prompt"]
    plan = {"steps": [{"index": 1, "description": "first"}]}
    assert "Current: first" in child_input(executing(context, event, plan=plan), prompts)["prompt"]
    assert (given["agent"], given["messages"], given["is_interactive"]) == ("developer", [], False)
    assert given["limits"]["turns"] == 3


def test_a_resumed_run_gets_the_continuation_prompt(context: MakeContext, event: MakeEvent, run: Run) -> None:
    """S3-063, C-35."""
    message = {"role": "user", "content": [{"type": "text", "text": "before"}]}
    said = [{"agent": "developer", "iteration": 1, "message": message}]
    plan = {"steps": [{"index": 1, "description": "first"}]}
    given = child_input(
        executing(context, event, history=[run()], messages=said, plan=plan),
        Prompts.load("orchestrator", PLACEHOLDERS),
    )
    assert given["prompt"].startswith("Go on with the task.") and "Step 1 of 1" in given["prompt"]
    assert "Do it" not in given["prompt"]
    assert [dict(m) for m in given["messages"]] == [message]
    assert given["plan"]["steps"][0]["description"] == "first"


def test_the_machine_is_the_one_that_the_agents_file_names(context: MakeContext, event: MakeEvent) -> None:
    """C-09."""
    asked: list[str] = []
    chart, bindings = Chart("c", "r", {}, ()), Bindings()

    def machine(name: str) -> tuple[Chart, Bindings]:
        asked.append(name)
        return chart, bindings

    bound = actors(replace(ports(Recorded(reply("select", GOOD))), machine=machine))
    executor = bound.get("actor", "agent_executor")
    assert isinstance(executor, ChildFactory)
    given = executing(context, event)
    child = executor.make(given)
    assert (child.chart, child.bindings, asked) == (chart, bindings, ["agent_loop"])
    executor.make({**given, "agent": {**thaw(given["agent"]), "chart": "proof_loop"}})
    assert asked == ["agent_loop", "proof_loop"]
    assert child.input["agent"] == "developer" and child.output is finished_run


SAID = [{"role": "user", "content": [{"type": "text", "text": str(n)}]} for n in range(3)]


def test_a_finished_run_hands_over_what_is_new() -> None:
    """S3-025, C-35, C-48."""
    result = finished_run(
        freeze({
            "outcome": "success", "summary": "s", "messages": SAID, "new_messages_from": 2,
            "files_changed": [{"path": "a.py", "kind": "added"}, "b.py"], "turns": 4,
        })
    )  # fmt: skip
    updates = {"step_updates": [{"index": 1, "status": "complete"}]}
    assert finished_run(freeze({"outcome": "success", "plan_updates": updates}))["plan_updates"] == updates
    assert (result["messages"], result["files_changed"]) == (SAID[2:], ["a.py", "b.py"])
    assert result["changes"] == [FileChange(path="a.py", kind="added").to_json()]
    assert (result["outcome"], result["summary"], result["plan_updates"]) == ("success", "s", None)
    assert finished_run({"outcome": "success", "messages": SAID})["messages"] == SAID
    plain = finished_run({"outcome": "success"})
    assert not plain["is_compacted"], "the conversation goes on where an agent does not say that it began anew"
    assert (plain["messages"], plain["files_changed"], plain["tree_after"]) == ([], [], None)


def test_of_many_changed_files_all_are_named_and_some_described() -> None:
    """AL-103: what the journal holds of a run stays small; a failed run keeps it too."""
    changed = [FileChange(path=f"{n:03}", kind="modified", added_lines=n).to_json() for n in range(100)]
    for told in (
        finished_run(freeze({"outcome": "success", "files_changed": changed})),
        failed(finished_run, {"outcome": "failure", "files_changed": changed}),
    ):
        assert told["files_changed"] == [change["path"] for change in changed]
        assert told["changes"] == changed[:20]


def failed(finish: Any, output: Any) -> Any:
    with pytest.raises(ActorFailed) as caught:
        finish(freeze(output))
    return caught.value.error


@pytest.mark.parametrize(
    ("output", "said"),
    [
        (None, "its output is NoneType, not an object"),
        ([], "its output is list, not an object"),
        ({}, "outcome"),
        ({"outcome": "fine"}, "outcome"),
        ({"outcome": "success", "usage": {"input_tokens": "many"}}, "usage.input_tokens"),
        ({"outcome": "success", "messages": ["hello"]}, "messages.0"),
        ({"outcome": "success", "messages": 5}, "gave no usable result"),
        ({"outcome": "success", "files_changed": [{}]}, "gave no usable result"),
        ({"outcome": "success", "files_changed": [{"path": "a", "kind": "eaten"}]}, "changes.0.kind"),
        ({"outcome": "success", "summary": 5}, "summary"),
        ({"outcome": "failure", "error": "boom"}, "error"),
    ],
)
def test_an_answer_that_is_no_result_is_a_validation_error(output: Any, said: str) -> None:
    """A chart of one's own may answer anything."""
    with pytest.raises(ActorFailed) as caught:
        finished_run(output)
    assert caught.value.error["category"] == "validation_error"
    assert said in caught.value.error["message"]


@pytest.mark.parametrize("outcome", ["limit", "cancelled", "success"])
def test_only_a_failure_leaves_as_an_error(outcome: str) -> None:
    """C-13, C-33."""
    assert finished_run({"outcome": outcome})["outcome"] == outcome


def test_a_failed_run_keeps_what_it_said_and_cost() -> None:
    """C-31."""
    error = {"message": "boom", "category": "tool_failure", "agent": "developer"}
    with pytest.raises(ActorFailed) as caught:
        finished_run({
            "outcome": "failure", "summary": "half", "error": error, "usage": COST, "messages": SAID,
            "tree_before": "t0", "tree_after": "t1", "files_changed": ["a.py"],
        })  # fmt: skip
    got = caught.value.error
    assert {name: got[name] for name in error} == error
    assert (got["summary"], got["messages"], got["files_changed"]) == ("half", SAID, ["a.py"])
    assert (got["usage"]["input_tokens"], got["tree_before"], got["tree_after"]) == (10, "t0", "t1")


@pytest.mark.parametrize(
    ("output", "message"),
    [({"outcome": "failure", "summary": "gave up"}, "gave up"), ({"outcome": "failure"}, "said nothing about why")],
)
def test_a_failure_without_an_error_still_says_something(output: dict[str, Any], message: str) -> None:
    with pytest.raises(ActorFailed, match=message):
        finished_run(output)

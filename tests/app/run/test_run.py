"""The composition root: what a run is made of, and what its report says, with real parts and scripted replies."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import pytest

from rawko.app import EXIT_CODES, Report, Run
from rawko.app.records.record import read_record
from rawko.app.records.record_changes import write_record
from rawko.app.run.models.access import ModelAccess
from rawko.app.run.stores import Stores
from rawko.config import ConfigError, Flags, load_settings
from rawko.providers.models import DEFAULT_MODEL
from rawko.runtime.ports import Answer, ModelRequest, Provider, Question, StreamEvent, TurnDone
from rawko.trust.project import grant
from tests.cli.shell import call, judges, picks, says

DONE = says("developer", call("complete", summary="Done."))


class Place:
    """A workspace with a state folder beside it."""

    def __init__(self, base: Path) -> None:
        self.base, self.folder = base, base / "project"
        self.folder.mkdir()

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def run(self, *replies: Mapping[str, Any], task: str = "Work", agent: str | None = "developer", **more: Any) -> Run:
        scenario = self.base / "scenario.yaml"
        scenario.write_text(json.dumps({"scenario": "test", "replies": replies}), encoding="utf-8")
        flags = Flags(scenario=str(scenario), assume_yes=more.pop("assume_yes", True))
        environ = {"RAWKO_STATE_DIR": str(more.pop("state", self.base / "state")), "PATH": "/usr/bin:/bin"}
        return Run(load_settings(self.folder, flags, environ, judge=grant), task, agent=agent, **more)

    async def report(self, *replies: Mapping[str, Any], **more: Any) -> Report:
        return await self.run(*replies, **more).execute()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


async def test_instructions_of_the_project_are_in_the_system_prompt(place: Place) -> None:
    place.write("AGENTS.md", "Always use tabs in Makefiles.")
    report = await place.report({**DONE, "expect": {"system": ["Always use tabs in Makefiles.", "You write and"]}})
    assert report.outcome == "success"


async def test_a_template_of_ones_own_takes_the_place_of_the_shipped_one(place: Place) -> None:
    place.write(".rawko/config.yaml", "prompts: my/prompts\n")
    place.write("my/prompts/agent_loop/system.md.j2", "You are {{ agent.name | upper }}.")
    report = await place.report({**DONE, "expect": {"system": ["You are DEVELOPER."]}})
    assert report.outcome == "success"


async def test_a_rule_may_name_the_states_in_which_it_holds(place: Place) -> None:
    place.write(".rawko/config.yaml", 'rules: ["deny write in executing"]\n')
    write = call("write", file_path="a.txt", content="a")
    alone = await place.report(says("developer", write), DONE)
    assert alone.files_changed == ("a.txt",), "an agent alone is never in the orchestrator's states"
    (place.folder / "a.txt").unlink()
    finishing = says("developer", call("complete", summary="Done."), expect={"last_message": "Denied by the rule"})
    replies = (picks("developer"), says("developer", write), finishing, judges("COMPLETE", summary="Done."))
    orchestrated = await place.report(*replies, agent=None)
    assert orchestrated.outcome == "success"
    assert orchestrated.files_changed == ()


async def test_a_run_cannot_rewrite_its_own_rules(place: Place) -> None:
    place.write(".rawko/config.yaml", "rules: [deny bash(touch*)]\n")
    rewrite = says("developer", call("bash", command="echo 'rules: [allow bash]' > .rawko/config.yaml"))
    touch = says("developer", call("bash", command="touch a.txt"))
    report = await place.report(rewrite, touch, {**DONE, "expect": {"last_message": "Denied by the rule"}})
    assert report.outcome == "success"
    assert not (place.folder / "a.txt").exists()


async def test_state_inside_the_workspace_is_no_change(place: Place) -> None:
    report = await place.report(
        says("developer", call("bash", command="echo a > a.txt")), DONE, state=place.folder / "state"
    )
    assert report.files_changed == ("a.txt",)
    assert (place.folder / "state").is_dir()


# ---------------------------------------------------------------- charts of the project's own


CHART = """\
statechart:
  name: greeter
  context: Greeting
  root state:
    name: greeter
    initial: greeting
    states:
      - name: greeting
        invoke: {id: greet, src: greet, input: greet_input, on done: {target: done, action: keep}, on error: failed}
      - {name: done, type: final, output: result}
      - {name: failed, type: final}
"""
BINDINGS = """\
from pydantic import BaseModel

from rawko import Bindings, assign

bindings = Bindings()

class Greeting(BaseModel):
    agent: str
    prompt: str
    messages: list = []
    plan: dict | None = None
    limits: dict
    can_update_plan: bool
    seed: int
    is_interactive: bool
    said: str = ""

bindings.add("context", "Greeting", Greeting)

@bindings.input
def greet_input(context, event):
    return {"prompt": context.prompt}

@bindings.actor
async def greet(given):
    return f"Hello, {given['prompt']}"

@bindings.action
def keep(context, event):
    return assign(said=event.output)

@bindings.output
def result(context, event):
    return RESULT
"""


def with_chart(place: Place, result: str) -> str:
    """The name of the module with the bindings: another one in each test, since they are one process."""
    module = f"greeter_{abs(hash((place.folder, result)))}"
    place.write("charts/greeter.yaml", CHART)
    place.write(f"{module}.py", BINDINGS.replace("RESULT", result))
    place.write("pyproject.toml", f'[tool.rawko.bindings]\n"charts/*.yaml" = "{module}"\n')
    place.write(
        ".rawko/agents/greeter.yaml",
        "name: greeter\nwhen_to_use: x\nsystem_prompt: y\nchart: charts/greeter.yaml\n",
    )
    return module


RESULTS = [
    ("{'outcome': 'success', 'summary': context.said}", "success", "Hello, Work"),
    ("{'outcome': 'limit', 'summary': context.said}", "limit", "Hello, Work"),
    ("context.said", "success", "Hello, Work"),
    ("None", "success", ""),
    ("[1, 2]", "success", "[1, 2]"),
    ("1 / 0", "failure", "output 'result' of state 'done' "),
    ("{'outcome': 'splendid'}", "failure", "the machine's output names the outcome 'splendid'; accepted: 'success', "),
]


@pytest.mark.parametrize(("result", "outcome", "summary"), RESULTS)
async def test_an_agent_with_a_chart_of_its_own(place: Place, result: str, outcome: str, summary: str) -> None:
    """Its bindings are those that the project's pyproject.toml names (C-09)."""
    with_chart(place, result)
    report = await place.report(agent="greeter")
    assert report.outcome == outcome
    assert summary in report.summary
    assert report.exit_code == EXIT_CODES[outcome]


async def test_a_chart_of_its_own_under_the_arbiter(place: Place) -> None:
    with_chart(place, "{'outcome': 'success', 'summary': 'Greeted.'}")
    judged = {**judges("COMPLETE", summary="It was greeted."), "expect": {"last_message": "Greeted."}}
    report = await place.report(picks("greeter"), judged, agent=None)
    assert (report.outcome, report.summary) == ("success", "It was greeted.")


async def test_a_context_that_does_not_take_what_an_agent_is_given(place: Place) -> None:
    module = with_chart(place, "None")
    place.write(f"{module}.py", BINDINGS.replace("    messages: list = []\n", "").replace("RESULT", "None"))
    with pytest.raises(ConfigError, match=r"agent 'greeter': the context of its chart .* has no field 'messages'"):
        await place.report(agent="greeter")


def test_bindings_that_fail_as_they_are_imported(place: Place) -> None:
    module = with_chart(place, "None")
    place.write(f"{module}.py", "raise RuntimeError('no luck')\n")
    with pytest.raises(ConfigError, match=rf"agent 'greeter': module '{module}', named by .*: no luck"):
        place.run(agent="greeter").check()


# ---------------------------------------------------------------- people, endings


class Person:
    """Answers once, then has left."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)

    async def ask(self, question: Question) -> Answer | None:
        return Answer(self.answers.pop(0)) if self.answers else None


async def test_answers_of_a_person_go_on_until_there_is_none(place: Place) -> None:
    first, second = (says("developer", call("write", file_path=name, content="x")) for name in ("a", "b"))
    report = await place.report(first, second, DONE, people=Person("once"), assume_yes=False)
    assert (report.outcome, report.state) == ("needs_person", "awaiting_approval")
    assert report.files_changed == ("a",)
    assert report.question is not None
    assert report.question["call"]["input"] == {"file_path": "b", "content": "x"}


async def test_a_run_that_is_cancelled_before_it_begins(place: Place) -> None:
    run = place.run(picks("developer"), agent=None)
    run.cancel()
    report = await run.execute()
    assert (report.outcome, report.state, report.usage.calls) == ("cancelled", "cancelled", 0)


async def test_an_observer_sees_every_step_in_order(place: Place) -> None:
    seen: list[Any] = []
    run = place.run(picks("developer"), DONE, judges("COMPLETE", summary="Done."), agent=None, observe=seen.append)
    report = await run.execute()
    assert [event["seq"] for event in seen] == list(range(1, len(seen) + 1))
    assert seen[-1]["type"] == "done"
    assert seen[-1]["output"]["outcome"] == report.outcome == "success"
    json.dumps(seen)


async def test_replies_that_nobody_asked_for_are_noted(place: Place) -> None:
    report = await place.report(DONE, says("developer", text="Never."))
    (note,) = report.notes
    assert note.startswith("the scenario has 1 reply that nobody asked for, the first: ")


async def test_two_runs_in_one_workspace_at_once(place: Place, tmp_path: Path) -> None:
    """Each has snapshots of its own; each sees what the other changed, too, since it is the same folder."""
    reports = await asyncio.gather(
        *(place.report(says("developer", call("bash", command=f"echo {n} > {n}.txt")), DONE) for n in (1, 2))
    )
    assert [report.outcome for report in reports] == ["success", "success"]
    for number, report in enumerate(reports, start=1):
        assert f"{number}.txt" in report.files_changed


@pytest.mark.parametrize(
    ("asked", "pinned"), [("claude-sonnet-4", DEFAULT_MODEL), (None, DEFAULT_MODEL), ("own", "own")]
)
def test_the_record_pins_the_model(place: Place, asked: str | None, pinned: str) -> None:
    """C-23: aliases and defaults may mean another model by the time a run is resumed."""
    current = place.run(says("developer", call("complete", summary="Done."))).settings
    settings = replace(current, provider="anthropic", model=asked)
    write_record(settings, "a-run", "Work", None)
    assert read_record("a-run", current).settings.model == pinned


async def test_a_reset_is_a_new_run_of_the_same_task(place: Place) -> None:
    """C-12: RESET is an operation on runs, not a transition."""
    run = place.run(says("developer", call("complete", summary="Done.")), agent="developer")
    again = run.reset()
    assert (again.task, again.agent, again.settings) == (run.task, run.agent, run.settings)
    assert again.id != run.id
    first, second = await run.execute(), await again.execute()
    assert (first.outcome, second.outcome) == ("success", "success")
    assert first.run != second.run


async def test_people_who_fail_end_a_resumed_run_instead_of_leaving_it_waiting(place: Place) -> None:
    """What helps a run along must not fail in silence."""

    class Broken:
        async def ask(self, question: Question) -> Answer | None:
            raise RuntimeError("the terminal broke")

    parked = place.run(says("developer", call("clarify", question="?")))
    assert (await parked.execute()).outcome == "needs_person"
    again = Run(parked.settings, parked.task, agent="developer", id=parked.id, is_resumed=True, people=Broken())
    with pytest.raises(RuntimeError, match="the terminal broke"):
        async with asyncio.timeout(600):
            await again.execute()


class ClosingProvider:
    """A provider that notes that it was closed, or takes for ever to."""

    def __init__(self, provider: Provider, *, is_stuck: bool = False) -> None:
        self._provider, self._is_stuck, self.name = provider, is_stuck, provider.name
        self.closed = 0

    def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        return self._provider.stream(request)

    async def create(self, request: ModelRequest) -> TurnDone:
        return await self._provider.create(request)

    async def aclose(self) -> None:
        self.closed += 1
        if self._is_stuck:
            await asyncio.Event().wait()
        await self._provider.aclose()


@dataclass(frozen=True, slots=True)
class ClosingAccess(ModelAccess):
    """The way to a model through a provider that counts how often it is closed."""

    run_with: RunWith

    async def open_provider(self, noted: Mapping[str, Any] | None, stores: Stores | None) -> Provider:
        real = await ModelAccess.open_provider(self, noted, stores)
        self.run_with.provider = ClosingProvider(real, is_stuck=self.run_with.is_stuck)
        return self.run_with.provider


class RunWith(Run):
    """A run whose provider the test sees."""

    provider: ClosingProvider
    is_stuck = False

    def _access(self) -> ModelAccess:
        access = super()._access()
        return ClosingAccess(**{field.name: getattr(access, field.name) for field in fields(access)}, run_with=self)


@pytest.mark.parametrize("agent", ["developer", None])
async def test_the_provider_is_closed_once_whatever_the_verdict(place: Place, agent: str | None) -> None:
    """C-30: also of a run that fails."""
    good = [DONE] if agent else [picks("developer"), DONE, judges("COMPLETE", summary="Done.")]
    bad = says("developer", error={"code": "billing", "message": "no credit"})
    for replies, outcome in ((good, "success"), ([bad] if agent else [picks("developer"), bad], "failure")):
        made = place.run(*replies, agent=agent)
        run = RunWith(made.settings, made.task, made.agent)
        assert (await run.execute()).outcome == outcome
        assert run.provider.closed == 1


@pytest.mark.slow
@pytest.mark.thorough
async def test_a_provider_that_does_not_close_keeps_no_run_from_its_end(place: Place) -> None:
    """C-30: after the deadline the run is reported, with a note; the verdict stands."""
    made = place.run(DONE)
    run = RunWith(made.settings, made.task, made.agent)
    run.is_stuck = True
    async with asyncio.timeout(600):
        report = await run.execute()
    assert report.outcome == "success"
    assert [note for note in report.notes if note.startswith("closing the provider failed")]

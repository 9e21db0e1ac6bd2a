"""Templates of the files of a new machine that runs agents; `NAME` is replaced by its name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from rawko.config import FOLDER

CHART: Final = """\
# A machine that runs agents: `rawko run "TASK" --agent NAME`; `rawko simulate NAME.yaml` steps through it.
statechart:
  name: NAME
  description: A writer works and a reviewer judges, round after round, until the work is approved
  context: Memory
  root state:
    name: NAME
    initial: at_work
    output: report
    states:
      - name: at_work
        description: An agent is working; transitions that both agents share are written here, once
        initial: writing
        transitions:
          - {event: done.invoke.*, guard: was_cancelled, target: cancelled}
          - {event: done.invoke.*, target: stopped, action: keep_summary}
          - {event: error.invoke.*, target: failed, action: keep_error}
        states:
          - name: writing
            on entry: count_round
            invoke:
              id: writer
              src: run_agent
              input: writer_input
              on restore: resume
              on done: {guard: has_succeeded, target: reviewing, action: keep_summary}
            transitions:
              - {event: CANCEL, action: {send: {event: CANCEL, to: writer}}}
          - name: reviewing
            invoke:
              id: reviewer
              src: run_agent
              input: reviewer_input
              on restore: resume
              on done:
                - {guard: approves, target: approved, action: keep_summary}
                - {guard: has_succeeded and has_rounds_left, target: writing, action: keep_review}
            transitions:
              - {event: CANCEL, action: {send: {event: CANCEL, to: reviewer}}}
      - {name: approved, type: final, on entry: conclude(outcome='success')}
      - {name: stopped, type: final, on entry: conclude(outcome='limit')}
      - {name: failed, type: final, on entry: conclude(outcome='failure')}
      - {name: cancelled, type: final, on entry: conclude(outcome='cancelled')}
"""

BINDINGS: Final = '''\
"""The functions that NAME.yaml names: `rawko check NAME.yaml --bindings NAME` checks them."""

from typing import Any

from rawko import Bindings, assign
from rawko.machines.agent_input import AgentInput

MAX_ROUNDS = 3

bindings = Bindings()
bindings.declare("actor", "run_agent")  # bound by rawko: it runs another agent of this project


@bindings.context
class Memory(AgentInput):
    """The context: the machine's input (the task as `prompt`, the conversation, limits, seed) and these fields."""

    rounds: int = 0
    summary: str | None = None
    review: str | None = None
    error: Any = None
    outcome: str | None = None


@bindings.input
def writer_input(context: Any, event: Any) -> Any:
    """The agent that writes, and its prompt: the task, and the changes that the reviewer wants."""
    more = f"\\n\\nThe reviewer wants this changed:\\n{context.review}" if context.review else ""
    return {"agent": "NAME_writer", "prompt": context.prompt + more}


@bindings.input
def reviewer_input(context: Any, event: Any) -> Any:
    """The agent that reviews, and its prompt."""
    prompt = f"The task was:\\n{context.prompt}\\n\\nThe writer says:\\n{context.summary}"
    return {"agent": "NAME_reviewer", "prompt": prompt}


@bindings.guard
def has_succeeded(context: Any, event: Any) -> bool:
    """Whether the agent ended with `complete`; reaching its own limits is no success."""
    return bool(event.output.outcome == "success")


@bindings.guard
def approves(context: Any, event: Any) -> bool:
    """Whether the reviewer approves of the work."""
    return has_succeeded(context, event) and (event.output.get("summary") or "").startswith("APPROVED")


@bindings.guard
def has_rounds_left(context: Any, event: Any) -> bool:
    """Whether the writer may work for another round."""
    return bool(context.rounds < MAX_ROUNDS)


@bindings.guard
def was_cancelled(context: Any, event: Any) -> bool:
    """Whether the agent has ended because the run was cancelled."""
    return bool(event.output.outcome == "cancelled")


@bindings.action
def count_round(context: Any, event: Any) -> Any:
    """Count a round."""
    return assign(rounds=context.rounds + 1)


@bindings.action
def keep_summary(context: Any, event: Any) -> Any:
    """Store the agent's summary of its work."""
    return assign(summary=event.output.get("summary"))


@bindings.action
def keep_review(context: Any, event: Any) -> Any:
    """Store the changes that the reviewer wants."""
    return assign(review=event.output.get("summary"), summary=event.output.get("summary"))


@bindings.action
def keep_error(context: Any, event: Any) -> Any:
    """Store the error of the agent."""
    return assign(error=event.error)


@bindings.action
def conclude(context: Any, event: Any, outcome: str) -> Any:
    """Store the outcome of the run: success, limit, failure or cancelled."""
    return assign(outcome=outcome)


@bindings.output
def report(context: Any, event: Any) -> Any:
    """The result that `rawko run` prints, and that an arbiter receives after choosing this machine."""
    return {
        "outcome": context.outcome,
        "summary": context.summary or "",
        "error": context.error,
        "iterations": context.rounds,
    }
'''

FEATURE: Final = """\
Feature: NAME
  The contract of NAME.yaml; `rawko test NAME.yaml` runs it. No agent runs here: the scenarios say how each one ends.

  Scenario: The reviewer approves
    Given state "writing" is active
    And guard "has_succeeded" is true
    When actor "writer" is done with {"outcome": "success", "summary": "Written."}
    Then state "reviewing" is active
    And actor "reviewer" is started
    When guard "approves" is true
    And actor "reviewer" is done with {"outcome": "success", "summary": "APPROVED."}
    Then state "approved" is active

  Scenario: The writer tries again while rounds are left
    Given state "reviewing" is active
    And guard "has_succeeded" is true
    And guard "approves" is false
    And guard "has_rounds_left" is true
    When actor "reviewer" is done with {"outcome": "success", "summary": "CHANGES: shorter."}
    Then state "writing" is active
    And action "keep_review" is called

  Scenario: The rounds are used up
    Given state "reviewing" is active
    And guard "has_succeeded" is true
    And guard "approves" is false
    And guard "has_rounds_left" is false
    And guard "was_cancelled" is false
    When actor "reviewer" is done with {"outcome": "success", "summary": "CHANGES: shorter."}
    Then state "stopped" is active

  Scenario: An agent fails
    Given state "writing" is active
    When actor "writer" fails with {"message": "no connection"}
    Then state "failed" is active

  Scenario: A person cancels the run
    Given state "writing" is active
    And guard "has_succeeded" is false
    And guard "was_cancelled" is true
    When I send event CANCEL
    Then state "writing" is active
    When actor "writer" is done with {"outcome": "cancelled"}
    Then state "cancelled" is active
"""

TEST: Final = '''\
"""The chart with its own functions: `python -m pytest test_NAME.py`. The tests play the agents."""

from pathlib import Path

from NAME import MAX_ROUNDS, bindings

from rawko.testing import TestActor, create_test_actor


def started() -> TestActor:
    return create_test_actor(Path(__file__).with_name("NAME.yaml"), bindings, input={"prompt": "Write a haiku"})


def done(summary: str) -> dict[str, str]:
    return {"outcome": "success", "summary": summary}


def test_each_agent_gets_the_summary_of_the_other() -> None:
    actor = started()
    assert actor.input_of("writer") == {"agent": "NAME_writer", "prompt": "Write a haiku"}
    actor.complete("writer", done("Wrote one line."))
    assert "Wrote one line." in actor.input_of("reviewer")["prompt"]
    actor.complete("reviewer", done("CHANGES: a haiku has three lines."))
    assert "three lines" in actor.input_of("writer")["prompt"]
    actor.complete("writer", done("Wrote three lines."))
    actor.complete("reviewer", done("APPROVED"))
    assert actor.matches("approved")
    assert actor.output["outcome"] == "success"


def test_the_rounds_are_bounded() -> None:
    actor = started()
    for _ in range(MAX_ROUNDS):
        assert actor.matches("writing")
        actor.complete("writer", done("Tried."))
        actor.complete("reviewer", done("CHANGES: again."))
    assert actor.matches("stopped")
    assert actor.output["outcome"] == "limit"
'''

SCENARIO: Final = """\
# Scripted replies of a model, so that the machine runs without one; files and tools are real:
# rawko run "Write a haiku" --agent NAME --scenario NAME_demo.yaml --yes
scenario: NAME_demo
replies:
  - purpose: agent:NAME_writer
    tool_calls: [{name: write, input: {file_path: haiku.txt, content: "An old silent pond\\n"}}]
  - purpose: agent:NAME_writer
    tool_calls: [{name: complete, input: {summary: Wrote haiku.txt.}}]
  - purpose: agent:NAME_reviewer
    tool_calls: [{name: read, input: {file_path: haiku.txt}}]
  - purpose: agent:NAME_reviewer
    tool_calls: [{name: complete, input: {summary: "CHANGES: a haiku has three lines."}}]
  - purpose: agent:NAME_writer
    expect: {last_message: a haiku has three lines}
    tool_calls:
      - name: write
        input:
          file_path: haiku.txt
          content: "An old silent pond\\nA frog jumps into the pond\\nSplash! Silence again\\n"
  - purpose: agent:NAME_writer
    tool_calls: [{name: complete, input: {summary: Now it has three lines.}}]
  - purpose: agent:NAME_reviewer
    tool_calls: [{name: complete, input: {summary: "APPROVED: three lines, and a frog."}}]
"""

MACHINE_AGENT: Final = """\
# The machine as an agent: what its chart does is in NAME.yaml. The arbiter may choose it, too.
name: NAME
when_to_use: When something has to be written and reviewed until it is right.
system_prompt: The chart asks NAME_writer and NAME_reviewer; no model reads this text.
chart: NAME.yaml
"""

WRITER: Final = """\
name: NAME_writer
when_to_use: When something has to be written.
system_prompt: |
  You write what the task asks for, and change what the reviewer wants changed. Check your work before you end.
  End with `complete`; its summary says what you have written, and where.
tools:
  allowed: [read, glob, grep, write, edit, bash]
limits: {turns: 30, tool_steps: 100}
"""

REVIEWER: Final = """\
name: NAME_reviewer
when_to_use: When written work has to be judged.
system_prompt: |
  You review what the writer has done for the task, and change nothing yourself. Read the files before you judge.
  End with `complete`. Its summary begins with APPROVED where nothing has to change; else with CHANGES, and it says
  exactly what has to change.
tools:
  allowed: [read, glob, grep, changes]
limits: {turns: 15, tool_steps: 60}
"""


def machine_files(name: str) -> Mapping[Path, str]:
    """The text of each file of a new machine, by its path in the project."""
    agents = Path(FOLDER) / "agents"
    texts = {
        Path(f"{name}.yaml"): CHART,
        Path(f"{name}.py"): BINDINGS,
        Path(f"{name}.feature"): FEATURE,
        Path(f"test_{name}.py"): TEST,
        Path(f"{name}_demo.yaml"): SCENARIO,
        agents / f"{name}.yaml": MACHINE_AGENT,
        agents / f"{name}_writer.yaml": WRITER,
        agents / f"{name}_reviewer.yaml": REVIEWER,
    }
    return {path: text.replace("NAME", name) for path, text in texts.items()}

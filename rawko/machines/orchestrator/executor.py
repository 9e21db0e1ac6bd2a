"""The actor that runs an agent's machine: finds the machine and builds its input (C-09)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rawko.chart.definition import Chart
from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.values import thaw
from rawko.machines.agent_loop.inputs import agent_loop_input
from rawko.machines.agent_result import finished_run
from rawko.machines.orchestrator.arbiter.prompt import error_data, plan_data, run_data
from rawko.machines.prompts.prompts import Prompts
from rawko.runtime.actor_kinds import ActorFailed, ChildFactory, ChildMachine, child_machine
from rawko.vocabulary.agent import AgentDescription
from rawko.vocabulary.plan import Plan

FindMachine = Callable[[str], tuple[Chart, Bindings]]
"""Returns chart and bindings of an agent's machine, by the name of the chart in the agent's file."""


def agent_executor(find_machine: FindMachine, prompts: Prompts) -> ChildFactory:
    """The actor that runs an agent; it chooses the agent's machine when it is invoked."""

    @child_machine
    def run_agent(given: Mapping[str, Any]) -> ChildMachine:
        agent = given["agent"]
        if agent is None:
            raise ActorFailed({"message": "No agent has been chosen", "category": "validation_error"})
        chart, bindings = find_machine(agent["chart"])
        return ChildMachine(chart, bindings, child_input(given, prompts), finished_run)

    return run_agent


def child_input(given: Mapping[str, Any], prompts: Prompts) -> dict[str, Any]:
    """The input of an agent's machine, in the shape of `agent_loop_input`, for users' charts as well.

    Its `prompt` is the next user message: what S3-063 calls the initial or the continuation prompt.

    Source: S3-063, C-35.
    """
    return agent_loop_input(
        AgentDescription.model_validate(thaw(given["agent"])),
        _agent_prompt(given, prompts),
        messages=given["messages"],
        plan=None if given["plan"] is None else Plan.model_validate(thaw(given["plan"])),
        seed=given["seed"],
    )


def _agent_prompt(given: Mapping[str, Any], prompts: Prompts) -> str:
    plan, reason, changes = plan_data(given["plan"]), given["reason"], given.get("changes")
    if given["start"] == "resume":
        error = error_data(given["last_error"])
        task = given.get("new_task")
        return prompts.render("agent_continuation", task=task, plan=plan, error=error, reason=reason, changes=changes)
    runs = [run_data(run) for run in given["handover"]]
    handover = prompts.render("handover", history=runs).strip() if runs else ""
    task = given["task"]
    return prompts.render("agent_initial", task=task, plan=plan, reason=reason, handover=handover, changes=changes)

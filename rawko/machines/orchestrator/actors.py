"""The orchestrator's actors: the arbiter's two questions to a model, asked here, and the agent's machine (`executor`).

Here the machine meets the world, through the provider; all else in this package is pure.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Literal

from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.values import thaw
from rawko.machines.evidence import capture_delivery, check_evidence
from rawko.machines.orchestrator.arbiter.decision import (
    REPEATS,
    ArbiterDecision,
    DecisionError,
    decision_schema,
    parse_decision,
    why_refused,
)
from rawko.machines.orchestrator.arbiter.errors import ARBITER
from rawko.machines.orchestrator.arbiter.prompt import evaluate_data, select_data
from rawko.machines.orchestrator.executor import FindMachine, agent_executor
from rawko.machines.prompts.prompts import Prompts
from rawko.runtime.actor_kinds import ActorFailed, Scope
from rawko.runtime.ports import EvidenceGatherer, ModelRequest, Provider, ProviderError, TurnDone
from rawko.vocabulary.errors import ErrorContext
from rawko.vocabulary.messages import Message, user_text
from rawko.vocabulary.usage import Usage

MAX_REASKS: Final = 2
MAX_ANSWER_TOKENS: Final = 2048

Purpose = Literal["select", "evaluate"]


@dataclass(frozen=True, slots=True)
class OrchestratorPorts:
    """What the orchestrator needs of the world.

    Attributes:
        provider: Asked by the arbiter.
        model: That the arbiter asks.
        prompts: The templates of prompts/orchestrator.
        machine: Chart and bindings of agents, by the name of the chart in their files.
        timeout_ms: Bound of one model call; None for the provider's default.
        no_time_for: Why a wait of so many milliseconds does not fit into the run's time, or None.
        gatherer: Looks for evidence in the workspace.
    """

    provider: Provider
    model: str
    prompts: Prompts
    machine: FindMachine
    timeout_ms: int | None = None
    no_time_for: Callable[[int], str | None] = field(default=lambda _: None)
    gatherer: EvidenceGatherer | None = None


def actors(ports: OrchestratorPorts) -> Bindings:
    """The actors of the chart, bound to the world."""
    bound = Bindings()
    arbiter = _Arbiter(ports)
    bound.add("actor", "arbiter_select_agent", arbiter.select_agent)
    bound.add("actor", "arbiter_evaluate", arbiter.evaluate)
    bound.add("actor", "agent_executor", agent_executor(ports.machine, ports.prompts))
    bound.add("actor", "check_wait", partial(_check_wait, ports))
    bound.add("actor", "capture_delivery", partial(capture_delivery, ports.gatherer))
    bound.add("actor", "check_evidence", partial(check_evidence, ports.gatherer, asyncio.Lock()))
    return bound


async def _check_wait(ports: OrchestratorPorts, given: Mapping[str, Any]) -> dict[str, Any]:
    """Refuse a wait that outlasts the run's time: it would end in a refusal anyway.

    Raises:
        ActorFailed: With the code `budget`.
    """
    if (problem := ports.no_time_for(given["wait_ms"])) is not None:
        raise ActorFailed(ErrorContext(message=problem, category="timeout", code="budget"))
    return {}


# ---------------------------------------------------------------- the arbiter


@dataclass(slots=True)
class _Asked:
    """A question with everything that was said about it so far."""

    messages: list[Message]
    usage: Usage = field(default_factory=Usage)


class _Arbiter:
    """Asks a model for decisions."""

    def __init__(self, ports: OrchestratorPorts) -> None:
        self._ports = ports
        self._system = ports.prompts.render("arbiter")

    async def select_agent(self, given: Mapping[str, Any], scope: Scope) -> dict[str, Any]:
        """Who works next.

        Args:
            given: A SelectAgentInput as data.

        Returns:
            {type, mode, reason, summary, usage, decision, agent}: `mode` is the agent that works next, also for
            RETRY and CONTINUE; `agent` its AgentDescription; both None for COMPLETE, ABORT and SKIP.

        Raises:
            ActorFailed: The model failed (provider_error, with its code and retry_after_ms); or it gave no usable
                decision, or one for an unknown agent (validation_error). `usage` counts every try.

        Source: S3-060, C-02, C-39.
        """
        prompt = self._ports.prompts.render("select", **select_data(given))
        decision, usage = await self._ask("select", prompt, given, scope)
        agents = {agent["name"]: agent for agent in given["available_agents"]}
        mode = decision.mode
        if mode is None and decision.type in REPEATS:
            mode = given["previous_agent"]
        refused = why_refused(
            decision.type,
            decision.mode,
            agents=agents,
            previous_agent=given["previous_agent"],
            has_open_step=_has_open_step(given["plan"]),
        )
        if refused is not None:
            raise _invalid(refused, usage)
        chosen = decision.model_copy(update={"mode": mode if decision.type in (*REPEATS, "SELECT_MODE") else None})
        agent = None if chosen.mode is None else thaw(agents[chosen.mode])
        return {**chosen.to_json(), "usage": usage.to_json(), "decision": decision.to_json(), "agent": agent}

    async def evaluate(self, given: Mapping[str, Any], scope: Scope) -> dict[str, Any]:
        """What the last execution is worth.

        Args:
            given: An EvaluateProgressInput as data.

        Returns:
            {type, mode, reason, summary, usage}.

        Raises:
            ActorFailed: As for `select_agent`, but an unknown agent is for the chart to send back to selecting.

        Source: S3-065, C-01, C-39.
        """
        prompt = self._ports.prompts.render("evaluate", **evaluate_data(given))
        decision, usage = await self._ask("evaluate", prompt, given, scope)
        return {**decision.to_json(), "usage": usage.to_json()}

    async def _ask(
        self, purpose: Purpose, prompt: str, given: Mapping[str, Any], scope: Scope
    ) -> tuple[ArbiterDecision, Usage]:
        """The decision, asked for again at most twice with what was wrong (C-39)."""
        asked = _Asked([user_text(prompt)])
        schema = decision_schema(agent["name"] for agent in given["available_agents"])
        problem = ""
        for _ in range(1 + MAX_REASKS):
            turn = await self._call(purpose, asked, schema)
            try:
                return parse_decision(turn.message.text), asked.usage
            except DecisionError as error:
                problem = str(error)
            scope.log(f"[rawko] Arbiter's answer was not accepted: {problem}", level="warning")
            self._object(asked, turn.message, problem)
        raise _invalid(f"Arbiter gave no usable decision in {1 + MAX_REASKS} answers: {problem}", asked.usage)

    def _object(self, asked: _Asked, answer: Message, problem: str) -> None:
        # An endpoint refuses an empty assistant message; then the two user messages stand one after the other.
        if answer.text.strip():
            asked.messages.append(answer)
        asked.messages.append(user_text(self._ports.prompts.render("reask", problem=problem)))

    async def _call(self, purpose: Purpose, asked: _Asked, schema: Mapping[str, Any]) -> TurnDone:
        request = ModelRequest(
            purpose=purpose,
            model=self._ports.model,
            system=self._system,
            messages=tuple(asked.messages),
            output_schema=schema,
            max_tokens=MAX_ANSWER_TOKENS,
            timeout_ms=self._ports.timeout_ms,
        )
        try:
            turn = await self._ports.provider.create(request)
        except ProviderError as error:
            raise ActorFailed(_provider_failure(error, asked.usage)) from error
        asked.usage = asked.usage + turn.usage
        if turn.stop_reason == "refusal":
            refusal = ProviderError("the model refused to decide", code="refusal")
            raise ActorFailed(_provider_failure(refusal, asked.usage))
        return turn


def _provider_failure(error: ProviderError, spent: Usage) -> dict[str, Any]:
    return {
        "agent": ARBITER,
        "message": error.message,
        "category": error.category,
        "code": error.code,
        "retry_after_ms": error.retry_after_ms,
        "usage": (spent + error.usage).to_json(),
    }


def _invalid(message: str, spent: Usage) -> ActorFailed:
    return ActorFailed({"agent": ARBITER, "message": message, "category": "validation_error", "usage": spent.to_json()})


def _has_open_step(plan: Mapping[str, Any] | None) -> bool:
    return plan is not None and plan["current_step_index"] < len(plan["steps"])

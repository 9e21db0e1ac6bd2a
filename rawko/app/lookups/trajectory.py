"""A run as a trajectory in ATIF, the Agent Trajectory Interchange Format (version 1.4): steps of people and of models.

    row of the journal                    step of the trajectory
    the run's task                        user
    done.invoke.stream_agent              agent: text, reasoning, tool calls, tokens, cost
    done.invoke.execute_tool, call_agent  observation of the step that made the call
    done.invoke.select_agent, ...         agent "arbiter": its decision as JSON
    USER_MESSAGE, DENY, ...               user, if the event has a text

Steps that a rewind has left behind are left out. Data without a field in ATIF are in `extra`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from rawko import __version__
from rawko.app.records.record import RunRecord
from rawko.app.views.reading import open_steps
from rawko.app.views.steps import StepView

SCHEMA_VERSION: Final = "ATIF-v1.4"
_TURN: Final = "done.invoke.stream_agent"
_DECISIONS: Final = ("done.invoke.select_agent", "done.invoke.evaluate_progress")
_RESULTS: Final = {"done.invoke.execute_tool": "content", "done.invoke.call_agent": "summary"}
_DECIDED: Final = ("type", "mode", "reason", "summary")


async def trajectory_of(record: RunRecord) -> dict[str, Any]:
    """The run until its latest step, as JSON.

    Raises:
        ConfigError: Its journal cannot be read.
    """
    writer = _Writer(record)
    async with open_steps(record) as reader:
        while found := await reader.page_with_rows():
            for row, view in found:
                if row is not None and row.event is not None and not view.is_left_behind:
                    writer.take(row.event["name"], row.event["data"], view)
    return writer.trajectory()


class _Writer:
    """Builds the trajectory, in the order of the journal."""

    def __init__(self, record: RunRecord) -> None:
        self._record = record
        self._steps: list[dict[str, Any]] = []
        self._by_call: dict[tuple[str, str], dict[str, Any]] = {}
        if record.task:
            self._add("user", record.task)

    def take(self, name: str, data: Mapping[str, Any], view: StepView) -> None:
        """Add a row and its view."""
        output = data.get("output")
        if name == _TURN and isinstance(output, Mapping):
            self._turn(output, view)
        elif name in _DECISIONS and isinstance(output, Mapping):
            told = {key: output[key] for key in _DECIDED if output.get(key)}
            step = self._add("agent", json.dumps(told, ensure_ascii=False), view)
            step["metrics"] = _metrics(view)
        elif name in _RESULTS and isinstance(output, Mapping) and view.call_id is not None:
            self._result(view, str(output.get(_RESULTS[name]) or ""))
        elif isinstance(said := data.get("content") or data.get("reason"), str) and name.isupper():
            self._add("user", said, view)

    def trajectory(self) -> dict[str, Any]:
        """The finished trajectory."""
        metrics = [step["metrics"] for step in self._steps if "metrics" in step]
        total = {
            f"total_{name}": sum(one.get(name, 0) for one in metrics)
            for name in ("prompt_tokens", "completion_tokens", "cached_tokens", "cost_usd")
        }
        models = {step["model_name"]: None for step in self._steps if "model_name" in step}
        agent = {"name": "rawko", "version": __version__}
        return {
            "schema_version": SCHEMA_VERSION,
            "session_id": self._record.run,
            "agent": {**agent, "model_name": next(iter(models))} if models else agent,
            "steps": self._steps,
            "final_metrics": {**total, "total_steps": len(self._steps)},
        }

    def _turn(self, output: Mapping[str, Any], view: StepView) -> None:
        blocks = output["message"]["content"]
        step = self._add("agent", "".join(block["text"] for block in blocks if block["type"] == "text"), view)
        step["model_name"] = output["model"]
        thought = "\n".join(str(block.get("thinking") or "") for block in blocks if block["type"] == "thinking")
        if thought:
            step["reasoning_content"] = thought
        calls = [block for block in blocks if block["type"] == "tool_use"]
        if calls:
            step["tool_calls"] = [
                {"tool_call_id": one["id"], "function_name": one["name"], "arguments": one["input"]} for one in calls
            ]
        self._by_call |= {(view.actor, one["id"]): step for one in calls}
        step["metrics"] = _metrics(view)

    def _result(self, view: StepView, content: str) -> None:
        step = self._by_call.get((view.actor, str(view.call_id)))
        if step is not None:
            results = step.setdefault("observation", {"results": []})["results"]
            results.append({"source_call_id": view.call_id, "content": content})

    def _add(self, source: str, message: str, view: StepView | None = None) -> dict[str, Any]:
        step: dict[str, Any] = {"step_id": len(self._steps) + 1, "source": source, "message": message}
        if view is not None:
            step["timestamp"] = datetime.fromtimestamp(view.time, UTC).isoformat(timespec="milliseconds")
            step["extra"] = {"agent": view.agent, "states": list(view.states), "step": view.number}
        self._steps.append(step)
        return step


def _metrics(view: StepView) -> dict[str, Any]:
    """Tokens and cost of the calls that ended in the step; ATIF counts cached tokens among those of the prompt."""
    told: dict[str, Any] = {
        "prompt_tokens": view.tokens_in,
        "completion_tokens": view.tokens_out,
        "cached_tokens": view.usage.cache_read_tokens,
    }
    return told if view.cost_usd is None else {**told, "cost_usd": view.cost_usd}

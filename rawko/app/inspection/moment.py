"""One moment of a run for a viewer: its step in detail, conversation and plan at that time, and whole texts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from rawko.app.lookups.texts import find_text
from rawko.app.time_travel.conversation import conversation_of
from rawko.app.time_travel.explain import explain, explain_all
from rawko.app.time_travel.recorded_run import Past
from rawko.config import ConfigError
from rawko.interpreter.data.values import thaw


async def step_detail(past: Past, step: int) -> dict[str, Any]:
    """The explanation of a step: event, receipt, candidates and values that guards read, context, effects, files.

    Raises:
        ConfigError: There is no such step, or the journal cannot be read.
    """
    return (await explain(past, await past.step(str(step)))).to_json()


async def step_details(past: Past, most: int) -> AsyncIterator[tuple[int, dict[str, Any]]]:
    """The explanations of the first `most` steps of a run; the machines are replayed once.

    Raises:
        ConfigError: The journal cannot be read.
    """
    async for told in explain_all(past, most):
        yield told.record.seq, told.to_json()


async def moment_of(past: Past, step: int) -> dict[str, Any]:
    """The conversation, the plan and the active states after a step.

    Raises:
        ConfigError: There is no such step, or the machines cannot be restored.
    """
    tree = await past.machines_at(await past.step(str(step)))
    machines = dict(tree.root.walk())
    plan = machines["root"].interpreter.context.get("plan")
    return {
        "step": step,
        "conversation": [said.to_json() for said in conversation_of(tree)],
        "plan": _plain(plan),
        "states": {path: list(machine.interpreter.configuration) for path, machine in machines.items()},
    }


async def whole_text(past: Past, id: str, step: str | None = None) -> str:
    """The whole text of a tool result that is shown cut, by the id of the tool call.

    Raises:
        ConfigError: There is no such text.
    """
    tree = await past.machines_at(await past.step(step))
    text = find_text([machine.interpreter.context for _, machine in tree.root.walk()], id)
    if text is None:
        raise ConfigError(f"there is no text with the id {id!r}")
    return text


def _plain(plan: Any) -> Any:
    dump = getattr(plan, "model_dump", None)
    return dump(mode="json") if dump is not None else thaw(plan)

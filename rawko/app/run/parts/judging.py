"""The actor `judge` of charts: runs the machine of `statecharts/judge.yaml` as a child, with candidates as input.

invoke: {id: verdict, src: judge, input: judge_input, on restore: resume, on done: ..., on error: ...}
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from rawko.app.run.parts.actor_names import JUDGE
from rawko.app.run.parts.charts import shipped_chart
from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.values import thaw
from rawko.machines import judge
from rawko.machines.judge.actors import JudgePorts, actors
from rawko.machines.judge.context import JudgeInput
from rawko.runtime.actor_kinds import ActorFailed, ChildMachine, child_machine
from rawko.runtime.ports import WorkspaceError
from rawko.workspace.repository.archive import Archive


def judging(ports: JudgePorts | None = None) -> Bindings:
    """The bindings of the actor `judge`; without ports, for a machine that is only inspected."""
    below = judge.bindings if ports is None else judge.bindings | actors(ports)

    def make(given: Any) -> ChildMachine:
        try:
            asked = JudgeInput.model_validate(thaw(given))
        except ValidationError as error:
            raise ActorFailed({"message": f"{JUDGE}: {_problems(error)}", "category": "validation_error"}) from error
        return ChildMachine(shipped_chart(JUDGE), below, asked.to_json(), _verdict)

    bindings = Bindings()
    bindings.add("actor", JUDGE, child_machine(make))
    return bindings


def _problems(error: ValidationError) -> str:
    told = (f"{'.'.join(map(str, one['loc'])) or 'its input'}: {one['msg']}" for one in error.errors(include_url=False))
    return "; ".join(told)


def _verdict(output: Any) -> Any:
    """The machine's output; an output without a verdict becomes an error with the same fields."""
    told = thaw(output)
    if told["error"] is not None:
        raise ActorFailed({**told, **told["error"]})
    return told


class RecordedChanges:
    """Reads the changes of runs from the snapshots of a state folder."""

    def __init__(self, state_dir: Path) -> None:
        self._snapshots = state_dir / "snapshots"

    async def __call__(self, run: str) -> str:
        """The unified diff between the first and the last snapshot of a run.

        Raises:
            WorkspaceError: The run has no snapshots, or they cannot be read.
        """
        return await asyncio.to_thread(self._read, run)

    def _read(self, run: str) -> str:
        with Archive(self._snapshots) as archive:
            taken = archive.snapshots(run)
            if not taken:
                raise WorkspaceError(f"run {run!r} has no snapshots")
            return archive.diff(taken[0].tree, taken[-1].tree)

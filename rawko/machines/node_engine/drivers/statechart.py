"""The driver that runs the machine of `statecharts/node_engine.yaml` on an Actor."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from rawko.chart.definition import Chart
from rawko.chart.parse import load_chart
from rawko.chart.shipped import find_chart
from rawko.interpreter.clocks import Clock
from rawko.interpreter.data.values import thaw
from rawko.machines.node_engine import bindings
from rawko.machines.node_engine.actors import actors
from rawko.machines.node_engine.context import REQUESTED, RunReport
from rawko.machines.node_engine.drivers.setup import RunSetup
from rawko.runtime.actor import Actor
from rawko.runtime.inspection import KEPT
from rawko.runtime.journal import Journal
from rawko.runtime.replay.replay import replay
from rawko.runtime.session import Session


@cache
def _chart() -> Chart:
    return load_chart(find_chart("node_engine"))


class StatechartDriver:
    """Drives the machine of `statecharts/node_engine.yaml` on an Actor.

    Args:
        clock, journal: As for `Actor`.
        snapshot: Resume from this snapshot (`actor.snapshot()`) instead of starting with the setup's context.
    """

    def __init__(
        self,
        setup: RunSetup,
        *,
        clock: Clock | None = None,
        journal: Journal | None = None,
        snapshot: Mapping[str, Any] | None = None,
    ) -> None:
        self._setup = setup
        self._clock = clock
        self._journal = journal
        self._snapshot = snapshot
        self._bindings = bindings | actors(setup.ports)
        self._stop_reason = setup.context.stop_reason
        self.actor: Actor | None = None

    @classmethod
    async def resumed(cls, setup: RunSetup, journal: Journal, *, clock: Clock | None = None) -> StatechartDriver:
        """A driver that resumes the run from its journal, or starts it where the journal is empty.

        Args:
            setup: Equal to the setup that the run was started with.

        Raises:
            ReplayError: The journal was written with another setup, chart, or code.
            JournalError: The journal cannot be read.
        """
        bound = bindings | actors(setup.ports)
        context = setup.input
        replayed = await replay(journal, context.run_id, _chart(), bound, input=context.to_json())
        return cls(setup, clock=clock, journal=journal, snapshot=replayed.snapshot)

    def begin(self) -> Actor:
        """Start the actor in the current event loop; `run` calls this if the caller has not."""
        context = self._setup.input.model_copy(update={"stop_reason": self._stop_reason})
        self.actor = actor = Actor(
            _chart(),
            self._bindings,
            input=context.to_json(),
            clock=self._clock,
            session=self._session(),
            snapshot=self._snapshot,
        )
        if (observe := self._setup.observe) is not None:
            actor.on_emit(lambda event, data: observe(event, thaw(data)))
        actor.start()
        if self._snapshot is None or "idle" in self._snapshot["configuration"]:  # killed before it took START
            actor.send("START")
        if self._snapshot is not None and self._stop_reason is not None:
            actor.send("STOP_REQUESTED", reason=self._stop_reason)
        return actor

    def _session(self) -> Session:
        """The session of the run. Without a journal it keeps no steps, so that memory does not grow with the run."""
        journal, kept = self._journal, 0 if self._journal is None else KEPT
        return Session(run=self._setup.context.run_id, journal=journal, log=self._setup.log, kept=kept)

    async def run(self) -> RunReport:
        """Run to the end.

        Raises:
            ActorCrashed: A step could not be written to the journal, or the machine raised.
        """
        async with self.actor or self.begin() as actor:
            return RunReport.model_validate(thaw(await actor.run()))

    def stop(self, reason: str = REQUESTED) -> None:
        """Ask the run to stop; may be called before the run begins."""
        if self.actor is None:
            self._stop_reason = self._stop_reason or reason
        else:
            self.actor.send("STOP_REQUESTED", reason=reason)

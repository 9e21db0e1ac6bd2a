"""The interface of an interpreter that sismic's tools use: listeners, bound machines, property statecharts.

Also the private names through which sismic's helpers (`run_in_background`, evaluators, clocks) access an interpreter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from sismic.interpreter import Interpreter as SismicInterpreter
from sismic.model import MetaEvent, Statechart

from rawko.interpreter.data.events import Event
from rawko.interpreter.running.instrumentation import Observation
from rawko.interpreter.running.listeners import BoundListener, PropertyListener
from rawko.interpreter.stepping.machine import Machine


class SismicFace(SismicInterpreter):
    """The base class of `Interpreter` for sismic's tools; its only state is the machine."""

    _machine: Machine

    @property
    def configuration(self) -> list[str]:
        """Names of the active states, by depth, then by name."""
        return self._machine.configuration

    @property
    def statechart(self) -> Statechart:
        """The chart in sismic's model, for sismic's tools; built on first access."""
        return self._machine.program.structure.lowered.statechart

    def _property_machine(self, statechart: Any, interpreter_klass: Callable[..., Any] | None) -> Any:
        """A machine for a property statechart, with this machine's time."""
        raise NotImplementedError

    # ------------------------------------------------------------ listeners

    def attach(self, listener: Callable[[MetaEvent], Any]) -> None:
        """Call `listener` with every meta-event: see sismic's documentation and docs/embedding.md."""
        self._observed().listeners.attached.append(listener)

    def detach(self, listener: Callable[[MetaEvent], Any]) -> None:
        """Stop calling a listener."""
        observation = self._observation
        if observation is None:
            raise ValueError("the listener is not attached")
        observation.listeners.detach(listener)
        if not observation.has_listeners and not observation.is_needed:
            self._machine.observer = None

    @property
    def _observation(self) -> Observation | None:
        return cast("Observation | None", self._machine.observer)

    def _observed(self) -> Observation:
        """The observer, created if the machine has none."""
        observation = self._observation
        if observation is None:
            observation = self._machine.observer = Observation()
            observation.attach_to(self._machine, self)
        return observation

    # ------------------------------------------------------------ what sismic's tools read and write

    @property
    def _event(self) -> Event:
        return self._machine.event

    @property
    def _configuration(self) -> set[str]:
        return set(self.configuration)

    @_configuration.setter
    def _configuration(self, names: set[str]) -> None:
        machine = self._machine
        if not names:  # sismic's `run_in_background` stops a machine so, from another thread
            machine.is_done = True
            return
        structure = machine.program.structure
        machine.node = machine.program.node(frozenset(structure.index[name] for name in names))
        machine.is_done = False

    @property
    def _listeners(self) -> list[Callable[[MetaEvent], Any]]:
        return self._observation.listeners.attached if self._observation is not None else []

    def bind(self, interpreter_or_callable: Any) -> Callable[[MetaEvent], Any]:
        """Pass every event that this machine sends or raises to another interpreter, or to a function."""
        receive = getattr(interpreter_or_callable, "queue", interpreter_or_callable)
        listener = BoundListener(receive)
        self.attach(listener)
        return listener

    def bind_property_statechart(
        self, statechart: Any, *, interpreter_klass: Callable[..., Any] | None = None
    ) -> Callable[[MetaEvent], Any]:
        """Watch this machine with a property statechart, which reports a violation by reaching its final state.

        Args:
            statechart: A rawko Chart, or a sismic Statechart (its code runs only if this machine is trusted, or
                through an `interpreter_klass` of your own).

        Raises:
            UntrustedCodeError: The statechart holds code, and neither this machine nor an `interpreter_klass` is
                trusted.
        """
        listener = PropertyListener(self._property_machine(statechart, interpreter_klass))
        self.attach(listener)
        return listener

"""A rig: a machine on the bare interpreter, whose actors say what the test says and whose clock goes when it says.

    class Rig(Driven):
        def __init__(self, **input):
            super().__init__(Interpreter(CHART, bindings, input=input))

    rig = Rig(task="x")
    rig.send("START")                       # an event from outside
    rig.done({"ok": True})                  # the one invocation in flight ends with an output
    rig.failed("no", category="timeout")    # or with an error
    rig.wait(5)                             # timers of the next five seconds
    assert rig.state == "done" and rig.logged == ["started"]

A machine with several invocations in flight names the one that is meant: `rig.done(output, id="select")`. Each method
returns the rig, so that a way to a state reads as one line.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from rawko.interpreter import EmitEvent, Interpreter, LogLine, SendTo, StartInvocation, Step, StopInvocation, thaw
from rawko.interpreter.data.steps import Receipt


class Driven:
    """A machine, and the effects of all its steps so far.

    Attributes:
        machine: Driven by the methods; tests may ask it anything.
        effects: In the order in which the machine has asked for them.
        receipt: What became of the last event sent.
    """

    def __init__(self, machine: Interpreter, *, snapshot: Mapping[str, Any] | None = None) -> None:
        self.machine = machine
        self.effects: list[Any] = []
        self.receipt: Receipt | None = None
        self._take(machine.start() if snapshot is None else machine.restore(snapshot))

    # ------------------------------------------------------------ what the test does

    def send(self, event: str, /, **data: Any) -> Self:
        """An event from outside, with all macrosteps that follow."""
        step = self.machine.send(event, **data)
        self.receipt = step.receipt
        self._take(step)
        return self._run()

    def done(self, output: Any = None, *, id: str | None = None) -> Self:
        """An invocation ends with an output; the only one in flight where no id is given."""
        id = self.running if id is None else id
        assert self.machine.complete_invocation(id, self.machine.invocations[id].number, output)
        return self._run()

    def failed(self, message: str = "no", *, id: str | None = None, **error: Any) -> Self:
        """An invocation ends with an error."""
        id = self.running if id is None else id
        assert self.machine.fail_invocation(id, self.machine.invocations[id].number, {"message": message, **error})
        return self._run()

    def yields(self, event: str, /, *, from_id: str | None = None, **data: Any) -> Self:
        """An invocation sends its parent an event, and goes on."""
        id = self.running if from_id is None else from_id
        assert self.machine.deliver(id, self.machine.invocations[id].number, event, data)
        return self._run()

    def wait(self, seconds: float) -> Self:
        """The clock goes on; timers fire in the order of their deadlines."""
        self._take(*self.machine.advance(seconds))
        return self

    def _take(self, *steps: Step) -> None:
        for step in steps:
            self.effects += [effect for one in (step, *step.following) for effect in one.effects]

    def _run(self) -> Self:
        while (step := self.machine.execute_once()) is not None:
            self._take(step)
        return self

    # ------------------------------------------------------------ what the test asks

    @property
    def state(self) -> str:
        """The innermost active state of the last region."""
        return self.machine.configuration[-1]

    @property
    def context(self) -> Any:
        return self.machine.context

    @property
    def output(self) -> Any:
        """Of a machine that has ended, as plain data."""
        assert self.machine.final
        return thaw(self.machine.output)

    @property
    def running(self) -> str:
        """The id of the one invocation in flight."""
        (id,) = self.machine.invocations
        return id

    @property
    def input(self) -> Any:
        """The input of the one invocation in flight, as plain data."""
        return thaw(self.machine.invocations[self.running].input)

    @property
    def logged(self) -> list[str]:
        return [effect.message for effect in self.effects if isinstance(effect, LogLine)]

    @property
    def emitted(self) -> list[str]:
        """Names of the events for observers."""
        return [effect.event for effect in self.effects if isinstance(effect, EmitEvent)]

    @property
    def stopped(self) -> list[str]:
        """Ids of the invocations that were stopped."""
        return [effect.id for effect in self.effects if isinstance(effect, StopInvocation)]

    def started(self, id: str) -> list[Any]:
        """Inputs of all starts of an invocation."""
        return [effect.input for effect in self.effects if isinstance(effect, StartInvocation) and effect.id == id]

    def data_of(self, kind: type[EmitEvent] | type[SendTo], event: str) -> list[Any]:
        """Data of all events of a name that were emitted, or sent to another actor, as plain data."""
        return [thaw(effect.data) for effect in self.effects if type(effect) is kind and effect.event == event]

"""The next system in the making: one macrostep of one machine after the other, each with what its effects do.

The rules are those of an `Actor` and its tree: a child machine is there as soon as it is invoked and begins later; what
is sent reaches an inbox at once; a child that has ended tells so later, at a turn of its own; one that is stopped is
gone at once, with all below it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal, NamedTuple, TypeAlias, assert_never

from rawko.interpreter.data.effects import Effect, EmitEvent, LogLine, SendTo, StartInvocation, StopInvocation
from rawko.interpreter.data.events import make_event
from rawko.interpreter.data.freezing import freeze
from rawko.interpreter.data.steps import Step
from rawko.interpreter.errors import InterpreterError, UntrustedCodeError
from rawko.interpreter.running.interpreter import Interpreter
from rawko.interpreter.running.states import state_of
from rawko.runtime.actor_kinds import ChildFactory, Immediate
from rawko.runtime.errors import ActorCrashed
from rawko.runtime.failures import UNDELIVERED, failure_of, undelivered_data
from rawko.system.effects import Asked, ChildEnded, ChildStarted, StepTaken, SystemEffect, Undelivered
from rawko.system.moves import ROOT
from rawko.system.system import Member, System, Waiting, children, in_flight

Act: TypeAlias = Callable[[Interpreter], Step | None]
"""What a machine does in its step; None: nothing came of it."""


class Note(NamedTuple):
    """What has happened to a machine that others must know of: it was sent something, was made, or has ended."""

    kind: Literal["sent", "made", "ended"]
    path: str
    number: int


class Draft:
    """A system in the making.

    Attributes:
        machines: By path.
        effects: So far, in order.
        notes: For whoever gives turns, in order.
    """

    def __init__(self, system: System) -> None:
        self._system = system
        self.time = system.time
        self.machines: dict[str, Member] = dict(system.machines)
        self.effects: list[SystemEffect] = []
        self.notes: list[Note] = []

    def system(self) -> System:
        """What it has come to."""
        return System(self.time, self.machines, self._system.calls_immediate, self._system.system_id)

    # ------------------------------------------------------------ steps

    def start(self, path: str) -> None:
        """The first step of a machine."""
        self.step(path, lambda interpreter: interpreter.start())

    def take(self, path: str) -> None:
        """One macrostep of what waits for a machine: its inbox gives one message to its queue, whose first is taken.

        What is dropped, since the actor that it comes from is over, is no macrostep: the next message is looked at.
        """

        def act(interpreter: Interpreter) -> Step | None:
            while True:
                has_taken_in = self._has_taken_in(path, interpreter)
                step = interpreter.execute_once()
                if step is not None or not has_taken_in:
                    return step

        self.step(path, act)

    def step(self, path: str, act: Act, ended: int = 0) -> None:
        """Have a machine do something, and begin the effects of its step.

        Args:
            ended: Number of the invocation whose end the machine takes, if it does not stand in its inbox or queue.

        Raises:
            Exception: What a function of the root has raised, or an actor's failure that it does not handle; the
                draft is then of no use.
        """
        before = self.machines[path]
        interpreter = before.kind.borrow(before.state, self.time)
        try:
            step = act(interpreter)
        except Exception as error:
            if path == ROOT:
                raise
            self._crash(path, before, error, ended)
            return
        state = state_of(interpreter, before.state, () if step is None else step.updates)
        before.kind.give_back(interpreter)
        self.machines[path] = before.changed(state, self.machines[path].inbox)
        if step is None:
            return
        self.effects.append(StepTaken(path, step))
        asked: set[int] = set()
        for effect in step.effects:
            self._begin(path, before, effect, asked)
        if state.is_done and path != ROOT:
            self._finished(path)

    def _has_taken_in(self, path: str, interpreter: Interpreter) -> bool:
        """Put the first message of a machine's inbox into its queue."""
        member = self.machines[path]
        if not member.inbox:
            return False
        first = member.inbox[0]
        self.machines[path] = member.changed(member.state, member.inbox[1:])
        put_in(interpreter, first, is_late=member.kind.hears_late)
        return True

    def _crash(self, path: str, before: Member, error: Exception, ended: int) -> None:
        """A child machine has raised: all that it invoked is stopped, and its parent will hear of it."""
        self._stop_below(path, before, ended)
        self.machines[path] = replace(before, failure=failure_of(ActorCrashed(path, error)))
        self.notes.append(Note("ended", path, before.number))

    def _finished(self, path: str) -> None:
        member = self.machines[path]
        if self.machines[member.parent].kind.hears_late and member.result is None:  # SCXML: with what was sent last
            self._arrive(member.parent, Waiting("done", "", member.state.output, member.id, member.number))
        self.notes.append(Note("ended", path, member.number))

    # ------------------------------------------------------------ effects

    def _begin(self, path: str, before: Member, effect: Effect, asked: set[int]) -> None:
        match effect:
            case LogLine() | EmitEvent():
                self.effects.append(Asked(path, effect))
            case SendTo():
                self._send(path, effect)
            case StartInvocation():
                self._invoke(path, effect, asked)
            case StopInvocation(id, number):
                child = self.machines.get(f"{path}/{id}")
                if child is not None and child.number == number:
                    self._remove(f"{path}/{id}")
                elif number in asked or self._was_in_flight(path, before, number):
                    self.effects.append(Asked(path, effect))
            case _:
                assert_never(effect)

    def _was_in_flight(self, path: str, before: Member, number: int) -> bool:
        return any(one.number == number for one in in_flight(self.machines, path, before))

    def _invoke(self, path: str, effect: StartInvocation, asked: set[int]) -> None:
        """Begin an invocation: a machine of the tree, an answer at once, or an actor of the caller's."""
        id, number, kind = effect.id, effect.number, self.machines[path].kind
        try:
            logic = kind.logic(effect)
            if isinstance(logic, ChildFactory):
                made = kind.child(logic, effect.input)
                child = f"{path}/{id}"
                if child in self.machines:
                    raise InterpreterError(f"two machines would have the path {child!r}: choose other ids")
                state = made.kind.fresh(made.input)
                self.machines[child] = Member(made.kind, state, (), number, path, id, made.output)
                self.effects.append(ChildStarted(child, made.kind.chart.name))
                self.notes.append(Note("made", child, number))
            elif isinstance(logic, Immediate) and self._system.calls_immediate:
                self._arrive(path, Waiting("done", "", freeze(logic(effect.input), f"output of {id}"), id, number))
            else:
                asked.add(number)
                self.effects.append(Asked(path, effect))
        except UntrustedCodeError:
            raise  # no failure of the actor's: an `Actor` runs it
        except Exception as error:  # noqa: BLE001 - foreign code; its failure is an event
            self._arrive(path, Waiting("error", "", failure_of(error), id, number))

    def _send(self, path: str, effect: SendTo) -> None:
        to, event, data = effect.to, effect.event, effect.data
        if to.startswith(("http://", "https://")) or (to == "parent" and path == ROOT):
            self.effects.append(Asked(path, effect))
            return
        if to == "parent":
            sender = self.machines[path]
            self._arrive(sender.parent, Waiting("sent", event, data, sender.id, sender.number))
            return
        receiver = self._receiver(path, to)
        if receiver is not None:
            self._arrive(receiver, Waiting("event", event, freeze(data, event)))
            return
        member, reason = self.machines[path], f"no actor {to!r} is running"
        self.effects.append(Undelivered(path, to, event, reason))
        told = undelivered_data(member.kind.chart, to, event, data, reason)
        if member.kind.hears_late:
            self._arrive(path, Waiting("first", UNDELIVERED, told))
        elif member.kind.hears_undelivered:
            self._arrive(path, Waiting("event", UNDELIVERED, told))

    def _receiver(self, path: str, to: str) -> str | None:
        """The machine that takes events under an id, a path or a system id; by a path only once it has begun."""
        child = self.machines.get(f"{path}/{to}")
        if child is not None:
            return None if child.is_ended else f"{path}/{to}"
        if to == self._system.system_id:
            to = ROOT
        found = self.machines.get(to)
        return to if found is not None and found.is_started and not found.is_ended else None

    # ------------------------------------------------------------ messages

    def post(self, path: str, message: Waiting) -> None:
        """A message from outside of the tree for a machine."""
        self._arrive(path, message)

    def _arrive(self, path: str, message: Waiting) -> None:
        member = self.machines[path]
        if member.kind.hears_late and message.id is not None:
            running = {one.number for one in member.state.invocations.values()}
            if message.number not in running or (message.is_end and message.number in member.ends_heard):
                return
            if message.is_end:
                member = replace(member, ends_heard=(member.ends_heard & running) | {message.number})
        self.machines[path] = member.changed(member.state, (*member.inbox, message))
        self.notes.append(Note("sent", path, member.number))

    # ------------------------------------------------------------ ends

    def tell_end(self, path: str) -> None:
        """A child machine that has ended leaves the tree, and its parent is sent what it came to."""
        member = self.machines.pop(path)
        how: Literal["done", "error"] = "done"
        if member.failure is not None:
            how, result = "error", member.failure
        else:
            try:
                output = member.state.output
                result = output if member.result is None else freeze(member.result(output), f"output of {member.id}")
            except Exception as error:  # noqa: BLE001 - foreign code; its failure is an event
                how, result = "error", failure_of(error)
        self.effects.append(ChildEnded(path, "done" if how == "done" else "failed", result))
        self._arrive(member.parent, Waiting(how, "", result, member.id, member.number))

    def _remove(self, path: str) -> None:
        """A child machine is stopped."""
        self._stop_below(path, self.machines[path])
        del self.machines[path]
        self.effects.append(ChildEnded(path, "stopped"))

    def _stop_below(self, path: str, member: Member, ended: int = 0) -> None:
        """All that a machine has invoked ends: its child machines first, with what they have invoked."""
        running = in_flight(self.machines, path, member)
        for child in children(self.machines, path):
            self._remove(child)
        self.effects += (Asked(path, StopInvocation(one.id, one.number)) for one in running if one.number != ended)


def put_in(interpreter: Interpreter, message: Waiting, *, is_late: bool) -> None:
    """Put a message into the queue of a machine, as an actor does when it takes it in."""
    id, number, data = message.id, message.number, message.data
    if id is None:
        event = make_event(message.event, data)
        if message.kind == "first":
            interpreter.queue_first(event)
        else:
            interpreter.queue(event)
    elif message.kind == "sent":
        interpreter.deliver(id, number, message.event, data, was_running=is_late)
    elif message.kind == "done":
        interpreter.complete_invocation(id, number, data, was_running=is_late)
    else:
        interpreter.fail_invocation(id, number, data, was_running=is_late)


def waits(member: Member, time: float) -> bool:
    """Whether a turn of the machine would do something: it has to start, has ended, or something waits for it."""
    if member.is_ended:
        return member.number > 0
    return not member.is_started or bool(member.inbox) or member.state.is_due(time)

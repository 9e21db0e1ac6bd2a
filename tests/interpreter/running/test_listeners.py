"""Meta-events in their exact order, contracts, property statecharts (SEMANTICS: listeners)."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from sismic.exceptions import (
    InvariantError,
    PostconditionError,
    PreconditionError,
    PropertyStatechartError,
)
from sismic.io import import_from_yaml
from sismic.model import Event, InternalEvent, MetaEvent

from rawko.interpreter import (
    ActionError,
    Bindings,
    ContractFailed,
    Interpreter,
    InterpreterError,
    Updates,
    append,
    assign,
    raise_,
    send,
)
from tests.interpreter.tables import chart_of, leaves


class Recorder:
    """Writes meta-events down, with the configuration at that moment."""

    def __init__(self, interpreter: Interpreter | None = None) -> None:
        self.lines: list[str] = []
        self.interpreter = interpreter

    def __call__(self, event: MetaEvent) -> None:
        data = event.data
        about = data.get("state") or data.get("source") or getattr(data.get("event"), "name", "")
        self.lines.append(f"{event.name} {about}".strip())


CHART = """
name: r
initial: p
contract: [{always: inv(what='r')}]
states:
- name: p
  initial: a
  states:
  - name: a
    on entry: act(what='entry a')
    on exit: act(what='exit a')
    contract: [{before: pre(what='a')}, {after: post(what='a')}, {always: inv(what='a')}]
    transitions:
    - event: E
      guard: guard
      target: b
      action: [act(what='action'), both]
      contract: [{before: pre(what='t')}, {after: post(what='t')}, {always: inv(what='t')}]
  - {name: b, on entry: act(what='entry b'), contract: [{before: pre(what='b')}], transitions: [{event: RAISED}]}
"""


def test_the_exact_order_of_everything() -> None:
    recorder = Recorder()
    lines = recorder.lines
    bindings = Bindings()
    bindings.add("action", "act", lambda context, event, what: lines.append(f"[{what}]"))
    bindings.add("action", "both", lambda context, event: (raise_("RAISED"), send("SENT", to="parent")))

    def noted(name: str) -> None:
        def guard(context: Any, event: Any, what: str = "") -> bool:
            lines.append(f"[{name} {what}]".replace(" ]", "]"))
            return True

        bindings.add("guard", name, guard)

    for name in ("guard", "pre", "post", "inv"):
        noted(name)
    interpreter = Interpreter(chart_of(CHART), bindings)
    interpreter.start()
    interpreter.attach(recorder)
    lines.clear()
    interpreter.send("E")
    assert lines == [
        "step started",
        "[guard]",
        "event consumed E",
        "[exit a]",
        "[post a]",
        "state exited a",
        "[pre t]",
        "[inv t]",
        "[action]",
        "[post t]",
        "[inv t]",
        "transition processed a",
        "[pre b]",
        "[entry b]",
        "state entered b",
        "event sent RAISED",
        "event sent SENT",
        "[inv r]",
        "event consumed RAISED",
        "transition processed b",
        "[inv r]",
        "step ended",
        "step started",
        "[inv r]",  # nothing is due: time may have passed
        "step ended",
    ]


def test_the_configuration_is_live() -> None:
    seen: list[tuple[str, list[str]]] = []
    interpreter = Interpreter(
        chart_of("name: r\ninitial: a\nstates: [{name: a, transitions: [{event: E, target: b}]}, {name: b}]")
    )
    interpreter.start()
    interpreter.attach(lambda event: seen.append((event.name, interpreter.configuration)))
    interpreter.queue("E")
    interpreter.execute_once()
    assert seen == [
        ("step started", ["r", "a"]),
        ("event consumed", ["r", "a"]),
        ("state exited", ["r"]),
        ("transition processed", ["r"]),
        ("state entered", ["r", "b"]),
        ("step ended", ["r", "b"]),
    ]


def test_transition_processed_tells_targets_and_event() -> None:
    seen: list[dict[str, Any]] = []
    interpreter = Interpreter(
        chart_of(
            """
name: r
initial: x
states:
- {name: x, transitions: [{event: E, target: [a1, b1]}]}
- name: p
  parallel states:
  - {name: a, initial: a1, states: [{name: a1, always: {}}]}
  - {name: b, initial: b1, states: [name: b1]}
"""
        )
    )
    interpreter.start()
    interpreter.attach(lambda event: seen.append(dict(event.data)) if event.name == "transition processed" else None)
    interpreter.send("E")
    first, second = seen
    assert (first["source"], first["target"], first["targets"]) == ("x", "a1", ["a1", "b1"])
    assert first["event"].name == "E"
    assert (second["source"], second["target"], second["targets"], second["event"]) == ("a1", None, [], None)


FAILING = "name: r\ninitial: a\nstates: [{name: a, transitions: [{event: E, target: b}]}, {name: b, on entry: boom}]"


def boom(context: Any, event: Any) -> Updates:
    raise LookupError("boom")


def test_a_rolled_back_step_says_so_before_it_ends() -> None:
    bindings = Bindings()
    bindings.action(boom)
    interpreter = Interpreter(chart_of(FAILING), bindings)
    interpreter.start()
    recorder = Recorder()
    interpreter.attach(recorder)
    with pytest.raises(ActionError):
        interpreter.send("E")
    assert recorder.lines == [
        "step started",
        "event consumed E",
        "state exited a",
        "transition processed a",
        "step rolled back",
        "step ended",
    ]


def test_a_handled_failure_is_rolled_back_and_goes_on() -> None:
    bindings = Bindings()
    bindings.action(boom)
    text = FAILING + "\ntransitions: [{event: error.execution}]"
    interpreter = Interpreter(chart_of(text), bindings)
    interpreter.start()
    recorder = Recorder()
    interpreter.attach(recorder)
    interpreter.queue("E")
    interpreter.execute_once()
    assert recorder.lines[-4:] == [
        "step rolled back",
        "event consumed error.execution",
        "transition processed r",
        "step ended",
    ]


META = ["step started", "event consumed", "state exited", "transition processed", "state entered", "event sent"]


@pytest.mark.parametrize("when", [*META, "step ended"])
def test_a_listener_that_raises_rolls_back_and_its_error_is_the_callers(when: str) -> None:
    def object_(event: MetaEvent) -> None:
        if event.name == when:
            raise PermissionError(when)

    interpreter = Interpreter(
        chart_of(
            """
name: r
initial: a
transitions: [{event: error.execution}]
states:
- {name: a, transitions: [{event: E, target: b, action: [{assign: {n: 1}}, {raise: X}]}], after: {1s: b}}
- {name: b, invoke: {src: work, on error: a}}
"""
        ),
        actors("work"),
    )
    interpreter.start()
    before = interpreter.snapshot()
    interpreter.attach(object_)
    interpreter.queue("E")
    with pytest.raises(PermissionError, match=when):
        interpreter.execute_once()
    snapshot = interpreter.snapshot()
    if when == "step started":
        assert len(snapshot["external"]) == 1
        snapshot["external"] = []
    assert snapshot == {**before, "seq": before["seq"] + 1}
    interpreter.detach(object_)
    assert interpreter.execute_once() is None or when == "step started"


def actors(*names: str) -> Bindings:
    bindings = Bindings()
    for name in names:
        bindings.add("actor", name, None)
    return bindings


def test_listeners_that_come_in_mid_step_hear_from_the_next_one() -> None:
    interpreter = Interpreter(chart_of("name: r\ntransitions: [{event: E}]"))
    interpreter.start()
    late = Recorder()

    def first(event: MetaEvent) -> None:
        if event.name == "event consumed":
            interpreter.attach(late)
            interpreter.detach(first)

    interpreter.attach(first)
    interpreter.queue("E")
    interpreter.execute_once()
    assert late.lines == []
    interpreter.execute_once()
    assert late.lines == ["step started", "step ended"]


def test_a_listener_attached_by_an_action_does_not_disturb_the_step() -> None:
    late = Recorder()
    bindings = Bindings()

    @bindings.action
    def watch(context: Any, event: Any) -> None:
        interpreter.attach(late)

    interpreter = Interpreter(
        chart_of(
            """
name: r
initial: a
states: [{name: a, transitions: [{event: E, target: b, action: watch}]}, {name: b, always: c}, {name: c}]
"""
        ),
        bindings,
    )
    interpreter.start()
    interpreter.queue("E")
    interpreter.execute_once()
    assert (late.lines, interpreter.configuration) == ([], ["r", "c"])
    interpreter.execute_once()
    assert late.lines == ["step started", "step ended"]


def test_listeners_may_queue() -> None:
    interpreter = Interpreter(chart_of("name: r\ntransitions: [{event: E}, {event: F}]"))
    interpreter.start()

    def queue_once(event: MetaEvent) -> None:
        if event.name == "step ended":
            interpreter.detach(queue_once)
            interpreter.queue("F")

    interpreter.attach(queue_once)
    interpreter.queue("E")
    assert [step.event.name for step in interpreter.execute() if step.event] == ["E", "F"]


@pytest.mark.parametrize("when", ["step started", "event consumed", "step ended"])
def test_listeners_may_not_execute(when: str) -> None:
    interpreter = Interpreter(chart_of("name: r\ntransitions: [{event: E}]"))
    interpreter.start()
    interpreter.attach(lambda event: interpreter.execute_once() if event.name == when else None)
    interpreter.queue("E")
    with pytest.raises(InterpreterError, match="a step is being processed"):
        interpreter.execute_once()


# ---------------------------------------------------------------- contracts


CONTRACTS = """
name: r
initial: a
states:
- {name: a, transitions: [{event: E, target: b, action: up}, {event: T, action: up, contract: [{after: grew}]}]}
- name: b
  contract: [{before: ok(n=context.before)}, {always: ok(n=context.always)}, {after: ok(n=context.after)}]
  transitions: [{event: BACK, target: a}]
"""


def contract_machine(**context: Any) -> Interpreter:
    bindings = Bindings()
    bindings.add("guard", "ok", lambda context, event, n: n != 0)
    bindings.add("guard", "grew", lambda context, event, old: context.n > old.n)
    bindings.add("action", "up", lambda context, event: assign(n=context.n + context.step))
    return Interpreter(
        chart_of(CONTRACTS), bindings, input={"n": 0, "step": 1, "before": 1, "always": 1, "after": 1, **context}
    )


BROKEN = [
    ("before", ["E"], PreconditionError, "state 'b' (before)"),
    ("always", ["E"], InvariantError, "state 'b' (always)"),
    ("after", ["E", "BACK"], PostconditionError, "state 'b' (after)"),
]


CONDITIONS = [
    "false",
    "(false or false)",
    "not true",
    "no",
    "no and true",
    "(no or false)",
    "in_state('b')",
    "not in_state('a')",
]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_broken_contract_shows_its_condition_as_the_chart_writes_it(condition: str) -> None:
    bindings = Bindings()
    bindings.add("guard", "no", lambda context, event: False)
    chart = chart_of(f'name: r\ninitial: a\nstates: [{{name: a, contract: [always: "{condition}"]}}, {{name: b}}]')
    with pytest.raises(InvariantError) as caught:
        Interpreter(chart, bindings).start()
    assert caught.value.condition == condition


@pytest.mark.parametrize(("kind", "events", "error", "where"), BROKEN)
def test_broken_contracts_roll_back(kind: str, events: list[str], error: type[Exception], where: str) -> None:
    interpreter = contract_machine(**{kind: 0})
    interpreter.start()
    for event in events[:-1]:
        interpreter.send(event)
    before = interpreter.snapshot()
    with pytest.raises(error) as caught:
        interpreter.send(events[-1])
    failed = caught.value
    assert isinstance(failed, ContractFailed)
    assert (failed.kind, failed.where, failed.condition) == ("contract", where, f"ok(n=context.{kind})")
    assert failed.obj.name == "b"
    assert "the condition does not hold" in str(failed)
    assert interpreter.snapshot() == {**before, "seq": before["seq"] + 1}


def test_a_transition_that_breaks_its_contract() -> None:
    interpreter = contract_machine(step=0)
    with pytest.raises(PostconditionError, match="grew"):
        interpreter.send("T")
    assert contract_machine().send("T").receipt is not None


def test_contracts_may_be_ignored() -> None:
    bindings = Bindings()
    bindings.add("guard", "never", lambda context, event: False)
    chart = chart_of("name: r\ncontract: [{before: never}]")
    with pytest.raises(PreconditionError):
        Interpreter(chart, bindings).start()
    Interpreter(chart, bindings, ignore_contract=True).start()


def test_old_is_the_context_at_entry_and_survives_a_snapshot() -> None:
    bindings = Bindings()
    bindings.add("action", "add", lambda context, event: append("items", event.n))
    bindings.add("guard", "grows", lambda context, event, old: len(context["items"]) - len(old["items"]) <= 2)
    chart = chart_of("name: r\ntransitions: [{event: E, action: add}]\ncontract: [{always: grows}]")
    interpreter = Interpreter(chart, bindings, input={"items": ["x"]})
    interpreter.send("E", n=1)
    restored = Interpreter(chart, bindings)
    restored.restore(interpreter.snapshot())
    for machine in (interpreter, restored):
        machine.send("E", n=2)
        with pytest.raises(InvariantError):
            machine.send("E", n=3)
        assert list(machine.context["items"]) == ["x", 1, 2]


def test_old_is_kept_only_where_it_is_read() -> None:
    interpreter = contract_machine()
    interpreter.send("E")
    assert interpreter.snapshot()["old"] == {}


@pytest.mark.parametrize("is_heard", [False, True], ids=["unheard", "heard"])
def test_old_is_let_go_when_its_state_is_left(is_heard: bool) -> None:
    bindings = Bindings()
    bindings.add("guard", "unchanged", lambda context, event, old: dict(context) == dict(old))
    chart = chart_of(
        "name: r\ninitial: a\nstates:\n"
        "- {name: a, contract: [{after: unchanged}], transitions: [{event: E, target: b}]}\n"
        "- {name: b, transitions: [{event: E, target: a}]}"
    )
    interpreter = Interpreter(chart, bindings, input={"n": 1})
    if is_heard:
        interpreter.attach(lambda told: None)
    interpreter.start()
    kept = []
    for _ in range(3):
        kept.append(interpreter.snapshot()["old"])
        interpreter.send("E")
    assert kept == [{"a": {"n": 1}}, {}, {"a": {"n": 1}}]


def test_invariants_hold_where_only_time_passes() -> None:
    bindings = Bindings()
    deadline = [False]
    bindings.add("guard", "in_time", lambda context, event: not deadline[0])
    interpreter = Interpreter(chart_of("name: r\ncontract: [{always: in_time}]"), bindings)
    interpreter.start()
    assert interpreter.execute_once() is None
    deadline[0] = True
    with pytest.raises(InvariantError):
        interpreter.execute_once()


# ---------------------------------------------------------------- property statecharts


NEVER_B_TWICE = """
statechart:
  name: never enters b twice
  root state:
    name: root
    initial: none
    states:
    - name: none
      transitions: [{event: state entered, guard: event.state == 'b', target: once}]
    - name: once
      transitions: [{event: state entered, guard: event.state == 'b', target: bad}]
    - {name: bad, type: final}
"""
TOGGLE = """
name: r
initial: a
states:
- {name: a, transitions: [{event: E, target: b}, {event: BAD, target: b, action: boom}]}
- {name: b, transitions: [{event: E, target: a}]}
"""


def watched() -> Interpreter:
    bindings = Bindings()
    bindings.action(boom)
    interpreter = Interpreter(chart_of(TOGGLE), bindings)
    interpreter.bind_property_statechart(
        import_from_yaml(NEVER_B_TWICE), interpreter_klass=partial(Interpreter.from_sismic, trusted=True)
    )
    interpreter.start()
    return interpreter


def test_a_property_that_fails_rolls_the_step_back() -> None:
    interpreter = watched()
    interpreter.send("E")
    interpreter.send("E")
    before = interpreter.snapshot()
    for _ in range(2):  # the property is as before, too, and objects again
        with pytest.raises(PropertyStatechartError):
            interpreter.send("E")
        assert leaves(interpreter) == "a"
    assert interpreter.snapshot() == {**before, "seq": before["seq"] + 2}


def test_a_rolled_back_step_leaves_no_trace_in_a_property() -> None:
    interpreter = watched()
    with pytest.raises(ActionError):
        interpreter.send("BAD")
    interpreter.send("E")  # the first time for the property, too
    assert leaves(interpreter) == "b"


def test_a_property_may_be_a_chart_of_ours() -> None:
    bindings = Bindings()
    bindings.add("guard", "is_b", lambda context, event: event.state == "b")
    chart = chart_of(
        """
name: root
initial: none
states:
- {name: none, transitions: [{event: state entered, guard: is_b, target: bad}]}
- {name: bad, type: final}
"""
    )
    interpreter = Interpreter(chart_of(TOGGLE.replace("boom", "[]")))
    interpreter.bind_property_statechart(
        chart, interpreter_klass=lambda chart, clock: Interpreter(chart, bindings, clock=clock)
    )
    interpreter.start()
    with pytest.raises(PropertyStatechartError):
        interpreter.send("E")


def test_an_internal_event_that_a_listener_queues_is_part_of_the_step() -> None:
    interpreter = Interpreter(
        chart_of("""
name: r
initial: a
states:
- {name: a, transitions: [{event: E, target: b}]}
- {name: b, transitions: [{event: HEARD, target: c}]}
- {name: c}
""")
    )
    interpreter.start()

    def listen(told: Any) -> None:
        if told.name == "state entered" and told.state == "b":
            interpreter.queue(InternalEvent("HEARD"))

    interpreter.attach(listen)
    step = interpreter.send("E")
    assert [micro.event.name for micro in step.steps if micro.event] == ["E", "HEARD"]
    assert interpreter.configuration == ["r", "c"]


def test_bind_passes_sent_events_on() -> None:
    heard: list[Event] = []
    bindings = Bindings()
    bindings.add("action", "tell", lambda context, event: (raise_("TOLD", n=1), send("OUT", {"name": "x"}, to="a")))
    interpreter = Interpreter(chart_of("name: r\ntransitions: [{event: E, action: tell}]"), bindings)
    announced: list[Any] = []
    interpreter.attach(lambda told: announced.append(told.event) if told.name == "event sent" else None)
    interpreter.bind(heard.append)
    interpreter.send("E")
    assert [(event.name, event.data) for event in heard] == [("TOLD", {"n": 1}), ("OUT", {"name": "x"})]
    assert all(isinstance(event, InternalEvent) for event in announced), "as sismic announces what is sent"
    assert [(event.name, getattr(event, "at_ms", 0)) for event in announced] == [("TOLD", 0), ("OUT", 0)]


def test_a_configuration_is_the_one_of_now_also_where_contracts_look_at_it_and_nobody_listens() -> None:
    chart = chart_of("""
name: r
initial: a
states:
- {name: a, contract: [{before: not in_state('b')}], transitions: [{event: E, target: b}]}
- {name: b, transitions: [{event: E, target: c}]}
- {name: c}
""")
    machine = Interpreter(chart)
    machine.start()
    for state in "bc":
        machine.queue("E").execute()
        assert machine.configuration == ["r", state] == machine.snapshot()["configuration"]

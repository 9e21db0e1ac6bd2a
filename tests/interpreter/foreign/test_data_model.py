"""`data model: python`: SCXML's words in trusted code, system variables, snapshots, rollback."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rawko.chart import Chart, ChartDefinitionError, parse_chart
from rawko.interpreter import Interpreter, Receipt, SnapshotError, UntrustedCodeError
from rawko.interpreter.foreign.scxml_code import compiled
from rawko.interpreter.foreign.scxml_values import DataModelError, ProcessorType, milliseconds, revived, xml_value


def chart_of(inside: str, preamble: str = "x = 0", *, errors: str = "scxml") -> Chart:
    lines = "\n".join(f"    {line}" for line in preamble.splitlines())
    return parse_chart(
        f"statechart:\n  name: doc\n  errors: {errors}\n  data model: python\n  preamble: |\n{lines}\n"
        f"  root state:\n    name: r\n    initial: a\n    states:\n{inside}",
        trusted=True,
    )


def machine(inside: str, preamble: str = "x = 0", **given: Any) -> Interpreter:
    made = Interpreter.trusting(chart_of(inside, preamble), initial_context=given)
    made.execute()
    return made


def entry(code: str) -> str:
    """One state that runs code when entered, and keeps errors."""
    lines = "\n".join(f"          {line}" for line in code.splitlines())
    return (
        f"    - name: a\n      on entry:\n      - python: |\n{lines}\n"
        "      transitions:\n      - {event: error.*, action: [python: \"assign('errors', errors + [_event.name])\"]}\n"
        "      - {event: GO, target: b}\n    - name: b\n"
    )


def test_nothing_runs_untrusted() -> None:
    with pytest.raises(UntrustedCodeError):
        Interpreter(chart_of("    - {name: a}\n"))


def test_variables_are_declared_by_the_preamble() -> None:
    made = machine("    - {name: a}\n", "x = 1\ny = x + 1\ndef twice(n):\n    return n * 2\nz = twice(y)")
    assert made.context == {"x": 1, "y": 2, "z": 4}


def test_given_values_replace_first_ones() -> None:
    made = machine("    - {name: a}\n", "x = 1\ny = x + 1", x=10, other=5)
    assert made.context == {"x": 10, "y": 11}


@pytest.mark.parametrize(
    ("code", "value"),
    [("x +\n1", 3), ("[x, # the first\n x + 1]", [2, 3]), ("x", 2), ("(x\n# '\n)", 2), ("'#' +\n 'a'", SyntaxError),
     ("x) + (x", SyntaxError), ("x # )\n) + (x", SyntaxError)],
)  # fmt: skip
def test_an_expression_may_go_over_several_lines(code: str, value: Any) -> None:
    if value is SyntaxError:
        with pytest.raises(SyntaxError):
            compiled(code, "eval")
    else:
        assert eval(compiled(code, "eval"), {"x": 2}) == value


def test_a_statement_of_the_preamble_that_fails_is_told_and_leaves_none() -> None:
    made = machine(entry("pass"), "errors = []\nx = 1 / 0\ny = 2")
    assert made.context == {"errors": ["error.execution"], "x": None, "y": 2}


@pytest.mark.parametrize(
    ("preamble", "found"),
    [
        ("errors = []\nx = 1\nx = 1 / 0", {"errors": ["error.execution"], "x": 1}),
        ("errors = []\nx = 1\n1 / 0", {"errors": ["error.execution"], "x": 1}),
    ],
    ids=["a second assignment", "a statement that declares nothing"],
)
def test_a_statement_that_fails_leaves_the_variables_that_are_there(preamble: str, found: dict[str, Any]) -> None:
    assert machine(entry("pass"), preamble).context == found


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("assign('x', x + 5)", 5),
        ("assign('x', {'a': [1]})\nassign('x[\"a\"][0]', 7)", {"a": [7]}),
        ("x = 3", 3),
        ("for item in each([1, 2, 3]):\n    assign('x', x + item)", 6),
        ("if holds(lambda: x == 0):\n    assign('x', 'zero')\nelse:\n    assign('x', 'other')", "zero"),
        ("assign('x', xml('<a><b n=\"1\"/></a>').find('b').get('n'))", "1"),
        ("assign('x', [_sessionid, _name])", ["doc", "doc"]),
        ("assign('x', _ioprocessors['scxml'].location)", "#_scxml_doc"),
        ("assign('x', [In('a'), In('b')])", [True, False]),
    ],
)
def test_words(code: str, found: Any) -> None:
    made = machine(entry(code), "errors = []\nx = 0")
    assert made.context["x"] == found
    assert made.context["errors"] == []


@pytest.mark.parametrize(
    "code",
    [
        "assign('unknown', 1)",
        "assign('1 + 1', 1)",
        "assign('_event', 1)",
        "assign('_sessionid', 1)",
        "_name = 'other'",
        "_ioprocessors = {}",
        "assign('assign', 1)",
        "del assign",
        "each(5)",
        "each('abc')",
        "invalid('something')",
        "send('e', target='nowhere')",
        "send('e', target='#_')",
        "send('e', type='carrier pigeon')",
        "send('e', delay='soon')",
        "send('')",
        "send(5)",
        "xml('<a>')",
        "xml('<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>')",
        "undefined",
    ],
)
def test_what_fails_ends_the_block(code: str) -> None:
    made = machine(entry(f"{code}\nassign('x', 1)"), "errors = []\nx = 0")
    assert made.context["x"] == 0
    assert made.context["errors"] == ["error.execution"]


def test_a_word_that_code_assigns_is_a_variable_from_then_on() -> None:
    assert "send" not in machine(entry("x = 1"), "errors = []\nx = 0").context
    made = machine(entry("send = 5\nx = send"), "errors = []\nx = 0")
    assert (made.context["send"], made.context["x"], made.context["errors"]) == (5, 5, [])


def test_a_condition_of_if_that_fails_is_false_and_the_block_goes_on() -> None:
    made = machine(entry("if holds(lambda: unknown):\n    assign('x', 1)\nassign('y', 1)"), "errors = []\nx = 0\ny = 0")
    assert (made.context["x"], made.context["y"], made.context["errors"]) == (0, 1, ["error.execution"])


EVENTS = """\
    - name: a
      transitions:
      - event: '*'
        action: "assign('x', [_event.name, _event.type, _event.sendid, _event.origin, _event.invokeid, _event.data])"
      - {event: START, target: a}
"""


def test_an_outer_event() -> None:
    made = machine(EVENTS)
    made.send("E", n=1)
    assert made.context["x"] == ["E", "external", None, "#_scxml_doc", None, {"n": 1}]
    made.send("F")
    assert made.context["x"][-1] is None


@pytest.mark.parametrize(
    ("code", "seen"),
    [
        ("raise_('E')", ["E", "internal", None, None, None, None]),
        ("send('E', target='#_internal', data={'n': 1})", ["E", "internal", None, None, None, {"n": 1}]),
        ("send('E', id='s', content='a text')", ["E", "external", "s", "#_scxml_doc", None, "a text"]),
        ("send('E', content=None)", ["E", "external", None, "#_scxml_doc", None, None]),
        ("send('E', content=xml('<a/>').tag)", ["E", "external", None, "#_scxml_doc", None, "a"]),
    ],
)
def test_an_own_event(code: str, seen: list[Any]) -> None:
    made = machine(
        entry(code).replace(
            "{event: GO, target: b}",
            "{event: E, action: \"assign('x', [_event.name, "
            '_event.type, _event.sendid, _event.origin, _event.invokeid, _event.data])"}',
        ),
        "errors = []\nx = 0",
    )
    assert made.context["x"] == seen


def test_events_are_read_only() -> None:
    made = machine(
        entry("pass").replace("{event: GO, target: b}", "{event: GO, action: \"_event.name = 'x'\"}"), "errors = []"
    )
    made.send("GO")
    assert made.context["errors"] == ["error.execution"]


def test_delays_and_cancel() -> None:
    made = machine(
        entry("send('GO', delay='2s', id='one')\nsend('GO', delay='3s', idlocation='x')\ncancel('one')"),
        "errors = []\nx = 0",
    )
    made.advance(2.5)
    assert made.matches("a")
    assert made.context["x"].startswith("send_")
    made.advance(1)
    assert made.matches("b")


def test_a_late_variable_gets_its_value_once() -> None:
    made = machine(
        "    - name: a\n      on entry:\n      - {python: \"bind('x', lambda: x_first)\"}\n"
        "      transitions:\n      - {event: GO, target: a, action: \"assign('x', x + 1)\"}\n",
        "x_first = 5\nx = None",
    )
    assert made.context["x"] == 5
    made.send("GO")
    made.send("GO")
    assert made.context["x"] == 7


COUNTER = """\
    - name: a
      transitions:
      - {event: ADD, guard: "_event.data.n > 0", action: "assign('x', x + _event.data.n)"}
      - {event: LIST, action: "assign('x', twice(x))"}
      - {event: OBJECT, action: "assign('x', lambda: 1)"}
"""


def test_what_would_happen_is_asked_with_the_event() -> None:
    made = machine(COUNTER)
    assert made.can("ADD", n=1)
    assert not made.can("ADD", n=-1)
    assert not made.can("ADD")  # its guard fails
    (refusal,) = made.why_not("ADD", n=-1)
    assert "_event.data.n > 0" in str(refusal)
    assert made.context["x"] == 0
    assert made.send("ADD", n=1).receipt is Receipt.TAKEN


def test_snapshots_go_on_with_functions_of_the_preamble() -> None:
    chart = chart_of(COUNTER, "x = 0\ndef twice(n):\n    return n * 2")
    made = Interpreter.trusting(chart)
    made.execute()
    made.send("ADD", n=4)
    made.send("ADD", n=-4)
    kept = json.loads(json.dumps(made.snapshot()))
    assert kept["context"] == {"x": 4}
    again = Interpreter.trusting(chart)
    again.restore(kept)
    again.send("LIST")
    assert again.context == {"x": 8}
    made.send("OBJECT")
    assert made.snapshot()["context"] == {}  # functions are code, not data


def test_what_is_no_json_cannot_be_kept() -> None:
    made = machine("    - {name: a, on entry: \"assign('x', {1, 2})\"}\n")
    with pytest.raises(SnapshotError, match="not JSON"):
        made.snapshot()


def test_xml_values_are_kept() -> None:
    chart = chart_of(
        "    - {name: a, transitions: [{event: GO, action: \"assign('y', x.find('b').text)\"}]}\n",
        "x = xml('<a><b>t</b></a>')\ny = 0",
    )
    made = Interpreter.trusting(chart)
    made.execute()
    again = Interpreter.trusting(chart)
    again.restore(json.loads(json.dumps(made.snapshot())))
    again.send("GO")
    assert again.context["y"] == "t"


def test_rollback_undoes_what_code_did() -> None:
    inside = "    - {name: a, transitions: [{event: GO, action: [{python: 'x.append(1)'}, {python: 'x.pop(9)'}]}]}\n"
    made = Interpreter.trusting(chart_of(inside, "x = []", errors="rollback"))
    made.execute()
    with pytest.raises(Exception, match="pop index out of range"):
        made.send("GO")
    assert made.context == {"x": []}


def test_outputs_are_code() -> None:
    made = machine(
        "    - {name: a, transitions: [{event: END, target: b}]}\n    - {name: b, type: final, output: \"{'x': x}\"}\n",
        "x = 3",
    )
    made.send("END")
    assert made.output == {"x": 3}


def test_contracts_are_code_in_the_same_words() -> None:
    move = "transitions: [{event: GO, action: \"assign('x', x + 1)\"}]"
    inside = f"    - {{name: a, contract: [always: \"x < 2 and In('a')\"], {move}}}\n"
    made = Interpreter.trusting(chart_of(inside, "x = 0"))
    made.execute()
    made.send("GO")
    with pytest.raises(Exception, match="the condition does not hold"):
        made.send("GO")
    assert made.context == {"x": 1}


@pytest.mark.parametrize(
    ("text", "found"), [("1s", 1000), (".5s", 500), ("1.5s", 1500), ("10ms", 10), ("0", 0), ("2m", 120_000)]
)
def test_times(text: str, found: float) -> None:
    assert milliseconds(text) == found


@pytest.mark.parametrize("text", ["", "5", "-1s", "1 s", "1d", "1e3s", None])
def test_other_times_are_refused(text: Any) -> None:
    with pytest.raises(DataModelError, match="is no time"):
        milliseconds(text)


def test_values() -> None:
    found = revived({"a": [{"b": 1}], "x": {"_xml": "<a>t<b/>u</a>"}})
    assert found.a[0].b == 1
    assert (found.x.text, found.x[0].tail) == ("t", "u")
    assert xml_value("<a>t<b/>u</a>").to_json() == {"_xml": "<a>t<b />u</a>"}
    with pytest.raises(AttributeError, match="no field 'c'"):
        found.c  # noqa: B018
    assert ProcessorType("http://x") == "scxml"
    assert ProcessorType("http://x") != "http://y"


def test_a_python_action_is_refused_untrusted() -> None:
    with pytest.raises(ChartDefinitionError, match="code-not-trusted"):
        parse_chart("statechart: {name: t, root state: {name: r, on entry: [{python: x = 1}]}}")

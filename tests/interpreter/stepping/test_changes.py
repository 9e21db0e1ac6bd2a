"""Changes that are computed before any is applied equal those that are applied one by one (SEMANTICS: actions)."""

from __future__ import annotations

from typing import Any

import pytest

from rawko.chart import parse_chart
from rawko.interpreter import ActionError, Bindings, Interpreter, append, assign, raise_
from rawko.interpreter.data.updates import Assign
from rawko.interpreter.data.values import shares_items
from rawko.interpreter.stepping.changes import changes_of

CHART = """
statechart:
  name: changing
  root state:
    name: root
    initial: a
    states:
      - {name: a, transitions: [{event: GO, target: b, action: act}]}
      - {name: b}
"""

RETURNED: dict[str, Any] = {
    "assign and append": (assign(n=2, m=[1, {"x": None}]), append("log", {"n": 1.5})),
    "append twice": (append("log", 1), append("log", [2])),
    "append to what was assigned": (assign(log=["new"]), append("log", "x"), assign(n=3)),
    "assign over what was appended": (append("log", 1), assign(log=[])),
    "append to a field that becomes a list": (assign(fresh=[]), append("fresh", True)),
    "assign twice": (assign(n=1), assign(n=[2])),
    "a new field": (assign(other="x"), None),
    "nothing": (),
    "None alone": (None,),
    "nested": ((assign(n=4),), append("log", 1)),
    "a list": [assign(n=4), append("log", 1)],
    "a record of fields": Assign({"n": {"deep": [1]}}),
    "another update": (append("log", 1), raise_("HEARD")),
    "append to a number": (append("log", 1), append("n", 1)),
    "append to a field that does not exist": (assign(n=1), append("missing", 1)),
    "no JSON": (append("log", 1), assign(n=2), assign(m={"bad": object()})),
    "an item that is no JSON": (assign(n=2), append("log", {1, 2})),
    "no update": (append("log", 1), "text"),
}


def outcome(returned: Any, *, is_heard: bool) -> tuple[Any, ...]:
    """Updates of the step or the error; then context and configuration. `is_heard`: on the path of machines with a
    listener, where each update is applied by itself.
    """
    bindings = Bindings()
    bindings.add("action", "act", lambda context, event: returned)
    machine = Interpreter(parse_chart(CHART), bindings, input={"n": 0, "log": ["old"]})
    if is_heard:
        machine.attach(lambda event: None)
    machine.start()
    before = machine.context["log"]
    try:
        result: Any = machine.send("GO").updates
    except ActionError as error:
        result = str(error)
    assert before == ["old"]
    return result, machine.context, machine.configuration


@pytest.mark.parametrize("name", RETURNED)
def test_both_ways_give_the_same(name: str) -> None:
    assert outcome(RETURNED[name], is_heard=False) == outcome(RETURNED[name], is_heard=True)


def test_only_changes_of_the_context_are_computed_before() -> None:
    machine = Interpreter(parse_chart(CHART.replace(", action: act", "")), input={"n": 0, "log": ["old"]})
    for name in ("nested", "another update", "no update"):
        assert changes_of(RETURNED[name], machine.context) is None, name
    log = machine.context["log"]
    assert shares_items(log.appended(2), log)  # nothing was appended in vain, so that the list need not be copied
    assert changes_of((append("log", 3), assign(n=1)), machine.context) == (
        {"log": ["old", 3], "n": 1},
        (append("log", 3), assign(n=1)),
    )

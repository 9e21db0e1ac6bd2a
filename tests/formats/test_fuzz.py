"""Whatever stands in a file: an import gives a chart that can be written and read, or errors with places."""

from __future__ import annotations

import copy
import json
import re
from random import Random
from typing import Any

import pytest

from rawko.chart import ChartError, parse_chart
from rawko.chart.formats.scxml import export_scxml, import_scxml
from rawko.chart.formats.xstate import export_xstate, import_xstate
from rawko.interpreter import EventlessCycleError, Interpreter
from rawko.runtime.scxml.invoked_documents import scxml_actors
from tests.chart.test_parse import FULL
from tests.formats.machines import MACHINES
from tests.formats.test_scxml import NAMESPACE, WHOLE

ODD: tuple[Any, ...] = (
    None, True, 0, -1.5, 1e308, "", " ", "a b", "x\ny", "*", "a.*", "#", "#.", ".", "..", "\\", "and", "not",
    "in_state", "é", "😀", "a" * 300, "__proto__", [], {}, [[]], ["a", None], {"target": []}, {"a": {"b": {}}},
    {"type": 5}, {"type": "and", "guards": []}, {"type": "xstate.raise"},
)  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in inner for place in places(item, (*path, key)))]


def mutated(machine: Any, random: Random) -> Any:
    machine = copy.deepcopy(machine)
    for _ in range(random.randint(1, 3)):
        *path, last = random.choice(places(machine)[1:])
        holder = machine
        for key in path:
            holder = holder[key]
        kind = random.random()
        if kind < 0.6 or not isinstance(holder, dict):
            holder[last] = copy.deepcopy(random.choice(ODD))
        elif kind < 0.8:
            holder[str(random.choice(ODD))] = holder.pop(last)
        else:
            del holder[last]
    return machine


@pytest.mark.parametrize("name", MACHINES)
def test_any_json_is_a_chart_or_has_errors_with_places(name: str) -> None:
    outcomes = set()
    for seed in range(80):
        text = json.dumps(mutated(MACHINES[name], Random(f"{name}{seed}")), indent=1)
        try:
            found = import_xstate(text, file="m")
        except ChartError as error:
            assert all(str(each.position).startswith("m:") for each in error.diagnostics)
            outcomes.add("refused")
            continue
        assert parse_chart(found.text).hash == found.chart.hash, text
        assert import_xstate(export_xstate(found.chart).text).chart.states.keys() == found.chart.states.keys()
        assert len(import_scxml(export_scxml(found.chart).text).chart.states) >= len(found.chart.states)
        outcomes.add("read")
    assert outcomes == {"refused", "read"}


WITH_CODE = """<scxml xmlns="http://www.w3.org/2005/07/scxml" name="fuzzed" datamodel="python" binding="early">
<datamodel><data id="n" expr="1"/><data id="xs">[1, 2]</data></datamodel><script>y = n + 1</script>
<state id="a"><onentry><assign location="n" expr="n + y"/><send event="go" delay="1s" id="s"/></onentry>
<onentry><if cond="n > 2"><raise event="big"/><elseif cond="In('b')"/><log label="l" expr="n"/><else/></if></onentry>
<onexit><foreach array="xs" item="x" index="i"><script>n = n + x</script></foreach><cancel sendidexpr="'s'"/></onexit>
<transition event="go big" cond="n and y" target="b"><send eventexpr="'go'" target="#_internal">
<param name="p" expr="n"/></send></transition>
<invoke id="child" type="scxml" namelist="n" autoforward="true"><content><scxml><final id="z"/></scxml></content>
<finalize><assign location="y" expr="_event.name"/></finalize></invoke></state>
<state id="b"><datamodel><data id="late" expr="5"/></datamodel><transition event="*" target="end"/></state>
<final id="end"><donedata><param name="p" location="n"/></donedata></final></scxml>"""


@pytest.mark.slow
def test_any_document_with_code_is_a_chart_that_runs_or_has_errors_with_places() -> None:
    outcomes = set()
    words = sorted({word for word in re.split(r"[^\w]+", WITH_CODE) if word and not word.isdigit()})
    for seed in range(50):
        random = Random(seed)
        changed = WITH_CODE
        for _ in range(random.randint(1, 3)):
            changed = changed.replace(
                random.choice(words), random.choice((*words, "", "*", "a b", "1", "x\ny", "-")), 1
            )
        try:
            found = import_scxml(changed, file="d", trusted=True)
        except ChartError as error:
            assert all(str(each.position).startswith("d:") for each in error.diagnostics)
            outcomes.add("refused")
            continue
        assert parse_chart(found.text, trusted=True).hash == found.chart.hash, changed
        import_scxml(export_scxml(found.chart).text, trusted=True)
        if found.chart.data_model:
            machine = Interpreter.trusting(found.chart, scxml_actors(trusted=True))
            try:
                machine.execute()
                machine.advance(2)
                outcomes.add("run")
            except EventlessCycleError:
                outcomes.add("goes round")
    assert outcomes == {"refused", "run", "goes round"}


@pytest.mark.parametrize("text", [f"<scxml {NAMESPACE}>{WHOLE}</scxml>", export_scxml(parse_chart(FULL)).text])
def test_any_xml_is_a_chart_or_has_errors_with_places(text: str) -> None:
    outcomes = set()
    words = sorted(
        {word for word in text.replace("<", " ").replace(">", " ").replace('"', " ").split() if word.isalnum()}
    )
    for seed in range(60):
        random = Random(seed)
        changed = text
        for _ in range(random.randint(1, 3)):
            changed = changed.replace(
                random.choice(words), random.choice((*words, "", "*", "a b", "x\ny", "é", "-")), 1
            )
        try:
            found = import_scxml(changed, file="d")
        except ChartError as error:
            assert all(str(each.position).startswith("d:") for each in error.diagnostics)
            outcomes.add("refused")
            continue
        assert parse_chart(found.text).hash == found.chart.hash, changed
        outcomes.add("read")
    assert outcomes == {"refused", "read"}

"""Whatever stands in a file: an import gives a chart that can be written and read, or errors with places."""

from __future__ import annotations

import copy
import json
from random import Random
from typing import Any

import pytest

from rawko.chart import ChartError, parse_chart
from rawko.chart.formats.scxml import export_scxml, import_scxml
from rawko.chart.formats.xstate import export_xstate, import_xstate
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
    for seed in range(150):
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


@pytest.mark.parametrize("text", [f"<scxml {NAMESPACE}>{WHOLE}</scxml>", export_scxml(parse_chart(FULL)).text])
def test_any_xml_is_a_chart_or_has_errors_with_places(text: str) -> None:
    outcomes = set()
    words = sorted(
        {word for word in text.replace("<", " ").replace(">", " ").replace('"', " ").split() if word.isalnum()}
    )
    for seed in range(150):
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

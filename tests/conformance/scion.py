"""SCION's cases: a document, events with delays, and the atomic states expected after each.

    python -m tests.conformance.scion

prints passed and total per category, and every case that does not pass with its reason. Each document goes through
`import_scxml`, as a user's would; its JavaScript is respelled as Python before (`javascript`).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rawko.chart import ChartError
from rawko.chart.formats.scxml import import_scxml
from rawko.interpreter import Interpreter
from rawko.interpreter.data.events import ENVELOPE
from tests.conformance.fetch import scion_folder
from tests.conformance.javascript import respelled

W3C = "w3c-ecma"
"""Another suite in the same package; it needs a JavaScript engine."""


@dataclass(frozen=True)
class Case:
    """One case of the suite."""

    category: str
    name: str
    folder: Path

    @property
    def id(self) -> str:
        return f"{self.category}/{self.name}"

    def script(self) -> Any:
        return json.loads((self.folder / f"{self.name}.json").read_text("utf-8"))

    def machine(self) -> Interpreter:
        """The document as a machine.

        Raises:
            ChartError: It cannot be imported.
        """
        path = self.folder / f"{self.name}.scxml"
        found = import_scxml(respelled(path), file=path.name, trusted=True, data_model="python", folder=self.folder)
        return Interpreter.trusting(found.chart)


def cases(folder: Path) -> Iterator[Case]:
    """All cases, by category and name."""
    for category in sorted(folder.iterdir()):
        if category.is_dir() and category.name != W3C:
            for path in sorted(category.glob("*.scxml")):
                if path.with_suffix(".json").exists():
                    yield Case(category.name, path.stem, category)


def atomic_states(machine: Interpreter) -> set[str]:
    """Active states without active children."""
    return {name for name in machine.configuration if not machine.chart[name].children}


def run(case: Case) -> str | None:
    """None if the case passes, else what went wrong."""
    try:
        machine = case.machine()
    except ChartError as error:
        return f"not imported: {error}"
    script = case.script()
    machine.execute()
    expected = set(script["initialConfiguration"])
    if atomic_states(machine) != expected:
        return f"start: expected {sorted(expected)}, found {sorted(atomic_states(machine))}"
    for number, part in enumerate(script["events"]):
        machine.advance(part.get("after", 0) / 1000)
        event, expected = part["event"], set(part["nextConfiguration"])
        data = event.get("data", {})
        machine.send(event["name"], **(data if isinstance(data, dict) else {ENVELOPE: {"content": data}}))
        if atomic_states(machine) != expected:
            found = sorted(atomic_states(machine))
            return f"event {number} ({event['name']}): expected {sorted(expected)}, found {found}"
    return None


def main() -> None:
    """Print the table."""
    passed, total, failed = Counter[str](), Counter[str](), []
    for case in cases(scion_folder()):
        total[case.category] += 1
        reason = run(case)
        if reason is None:
            passed[case.category] += 1
        else:
            failed.append((case.id, reason))
    for category, count in total.items():
        print(f"| {category} | {passed[category]} / {count} |")
    print(f"| **all** | **{passed.total()} / {total.total()}** |")
    for name, reason in failed:
        print(f"{name}: {reason}")


if __name__ == "__main__":
    main()

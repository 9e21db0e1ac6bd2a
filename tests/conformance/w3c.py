"""The W3C's SCXML test documents: each imported as a user would, run as an actor, and passed where it ends in `pass`.

python -m tests.conformance.w3c            # the table per section of the recommendation, and what fails
python -m tests.conformance.w3c 144 554    # these cases alone
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rawko.chart import ChartError
from rawko.chart.formats.scxml import import_scxml
from rawko.interpreter.clocks import SimulatedClock
from rawko.runtime import Actor
from rawko.runtime.errors import RuntimeFault
from rawko.runtime.scxml.http_events import HttpEvents
from rawko.runtime.scxml.invoked_documents import scxml_actors
from rawko.runtime.session import Session
from tests.conformance.fetch import NotFetched, w3c_folder

LONGEST_S = 10
"""No document waits longer, on the simulated clock."""


@dataclass(frozen=True, slots=True)
class Case:
    """One document.

    Attributes:
        number: As the W3C numbers it; 403a, 403b and 403c are three.
        level: "mandatory" or "optional".
    """

    number: str
    level: str
    path: Path

    @property
    def id(self) -> str:
        return f"{self.level}-{self.number}"


def cases(folder: Path) -> Iterator[Case]:
    """All documents but those that others invoke."""
    for level in ("mandatory", "optional"):
        for path in sorted((folder / level).glob("test*.scxml")):
            if "sub" not in path.stem:
                yield Case(path.stem.removeprefix("test"), level, path)


def run(case: Case) -> str | None:
    """None where the document ends in its state `pass`; else what happened."""
    try:
        return asyncio.run(_run(case))
    except ChartError as error:
        return f"not imported: {error}"
    except RuntimeFault as error:
        return f"crashed: {error}"


async def _run(case: Case) -> str | None:
    folder = case.path.parent
    text = case.path.read_text("utf-8")
    # Some documents still say `ecmascript`; their expressions are Python all the same.
    chart = import_scxml(text, file=case.path.name, trusted=True, data_model="python", folder=folder).chart
    # One invokes a document with a transition to a state that is not there, and is meant to run.
    actors = scxml_actors(trusted=True, data_model="python", folder=folder, lenient=True)
    session = Session(log=lambda level, message, data: None)
    async with HttpEvents(session) as http:
        clock = SimulatedClock()
        async with Actor(chart, actors, clock=clock, session=session, trusted=True) as actor:
            await _settle(actor, http)
            while not actor.is_ended and clock.time < LONGEST_S:
                await actor.advance(0.25)
                await _settle(actor, http)
            if actor.error is not None:
                return f"crashed: {actor.error}"
            return None if "pass" in actor.configuration else f"ends in {', '.join(actor.configuration)}"


async def _settle(actor: Actor, http: HttpEvents) -> None:
    """Wait until nothing happens, and no message is on its way."""
    await actor.settle()
    await http.until_idle()
    await actor.settle()


def main(wanted: list[str]) -> int:
    try:
        folder = w3c_folder()
    except NotFetched as error:
        print(f"not fetched: {error}")
        return 1
    failed = 0
    for case in cases(folder):
        if wanted and case.number not in wanted:
            continue
        outcome = run(case)
        if outcome is not None:
            failed += 1
            print(f"{case.id}: {outcome}")
    print(f"{failed} failed")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

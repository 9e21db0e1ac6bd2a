"""A list of calls in a process that may be killed: each item is written down when it is done.

python -m tests.runtime.durable.surviving_fan_out FOLDER    # begins or resumes; the output is written to FOLDER/output
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from rawko import Actor, Bindings, assign, parse_chart
from rawko.interpreter import thaw
from rawko.journal import SqlJournal

ITEMS = list(range(8))
CHART = parse_chart("""
statechart:
  name: survivor
  root state:
    name: survivor
    initial: working
    states:
      - name: working
        invoke:
          src: job
          for each: context.items_to_do
          concurrency: 2
          on restore: restart
          on done: {target: over, action: keep}
          on error: over
      - {name: over, type: final}
""")


def bindings_of(folder: Path) -> Bindings:
    bindings = Bindings()

    @bindings.actor
    async def job(input: Any) -> Any:
        await asyncio.sleep(0.02)
        with (folder / "done").open("a", encoding="utf-8") as file:
            file.write(f"{input}\n")
        print(f"done {input}", flush=True)
        return input * 10

    @bindings.action
    def keep(context: Any, event: Any) -> Any:
        return assign(output=event.output)

    return bindings


async def main(folder: Path) -> None:
    path, given = folder / "journal.db", {"items_to_do": ITEMS, "output": None}
    if path.exists():
        actor = await Actor.resume("crowd", CHART, bindings_of(folder), journal=SqlJournal(path))
    else:
        actor = Actor(CHART, bindings_of(folder), input=given, journal=SqlJournal(path), id="crowd")
    await actor.run()
    (folder / "output").write_text(repr(thaw(actor.interpreter.context)["output"]), encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))

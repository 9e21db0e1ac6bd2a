"""A machine whose timers and invocations have every policy there is for a restart, in a process that may be killed."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

from rawko import Actor, Bindings, ChildMachine, append, child_machine, parse_chart
from rawko.journal import SqlJournal
from rawko.runtime.actor_kinds import Scope
from rawko.runtime.replay.recorded import read_recorded
from rawko.runtime.replay.replay import replay
from rawko.runtime.session import Session

DELAY_S = 1.5
KID = parse_chart("""
statechart:
  name: kid
  root state:
    name: kid
    initial: counting
    states:
      - name: counting
        transitions: [{event: COUNT, action: count}]
""")
CHART = parse_chart(f"""
statechart:
  name: survivor
  root state:
    name: survivor
    parallel states:
      - name: original
        initial: original_waits
        states:
          - {{name: original_waits, after: {{{DELAY_S}s: original_over}}}}
          - {{name: original_over}}
      - name: remaining
        initial: remaining_waits
        states:
          - {{name: remaining_waits, after: {{{DELAY_S}s: {{target: remaining_over, on restore: remaining}}}}}}
          - {{name: remaining_over}}
      - name: restarted
        initial: restarted_waits
        states:
          - {{name: restarted_waits, after: {{{DELAY_S}s: {{target: restarted_over, on restore: restart}}}}}}
          - {{name: restarted_over}}
      - name: works
        invoke: {{id: again, src: job, on restore: restart}}
      - name: resets
        invoke: {{id: reset, src: job, on restore: reset workspace}}
      - name: family
        invoke: {{id: kid, src: kid, on restore: resume}}
        transitions: [{{event: COUNT, action: {{send: {{event: COUNT, to: kid}}}}}}]
      - name: asks
        invoke: {{id: held, src: job, on restore: ask}}
      - name: fails
        initial: fragile
        states:
          - name: fragile
            invoke: {{id: fragile, src: job, on restore: fail, on error: {{target: lost, action: keep_error}}}}
          - {{name: lost}}
    transitions: [{{event: BEAT, action: beat}}]
""")


def bindings_of() -> Bindings:
    bindings = Bindings()

    @bindings.actor
    async def job(input: Any, scope: Scope) -> None:
        print(f"{scope.id} attempt {scope.attempt}", flush=True)
        await asyncio.Event().wait()

    @bindings.actor
    @child_machine
    def kid(input: Any) -> ChildMachine:
        counting = Bindings()

        @counting.action
        def count(context: Any, event: Any) -> Any:
            return append("counted", event.at_ms)

        return ChildMachine(KID, counting, {"counted": []})

    @bindings.action
    def keep_error(context: Any, event: Any) -> Any:
        return append("errors", event.error["kind"])

    @bindings.action
    def beat(context: Any, event: Any) -> Any:
        return append("beats", event.at_ms)

    return bindings


INPUT: dict[str, Any] = {"errors": [], "beats": []}


async def main(where: Path, mark: str, seconds: float) -> None:
    journal = SqlJournal(where)
    recorded = await read_recorded(journal, "r")
    snapshot = (await replay(recorded, "r", CHART, bindings_of(), input=INPUT)).snapshot
    session = Session(run="r", journal=journal, recorded=recorded)
    began = time.monotonic()
    async with Actor(CHART, bindings_of(), input=INPUT, session=session, snapshot=snapshot) as actor:
        await actor.settle()
        seen = set(actor.configuration)
        if actor.matches("lost"):
            print("lost", flush=True)

        def tell(step: Any) -> None:
            for state in sorted(set(actor.configuration) - seen):
                seen.add(state)
                print(f"{state} {time.monotonic() - began:.3f}", flush=True)

        actor.subscribe(tell)
        await actor.request("COUNT")
        await actor.request("BEAT")
        kid = actor.children["kid"]
        await kid.wait_for(lambda child: bool(child.context["counted"]), timeout_s=30)
        print(f"counted {len(actor.children['kid'].context['counted'])}", flush=True)
        print(f"held {actor.interpreter.invocations['held'].is_held}", flush=True)
        print(mark, flush=True)
        await asyncio.sleep(seconds)
        await actor.request("BEAT")
        print(f"end {' '.join(actor.context['errors'])} {len(actor.context['beats'])}", flush=True)
    await journal.aclose()

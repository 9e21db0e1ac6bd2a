"""One document on python-statemachine, in a process of its own: it waits for real, and some cases for ever.

Reads {"kind": "w3c" or "scion", "path", "script"} from standard input, and prints what went wrong, or null, as JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

LONGEST_S = 4.0
SETTLE_S = 0.1


class Quiet:
    """A listener with a coroutine: it makes the library take its asynchronous engine."""

    async def on_enter_state(self, **_: Any) -> None: ...


async def start(source: Path) -> Any:
    from statemachine.io import load  # type: ignore[import-untyped, import-not-found, unused-ignore]  # may be absent

    machine = load(source, trusted=True)(listeners=[Quiet()])
    await machine.activate_initial_state()
    return machine


async def wait(machine: Any, seconds: float, is_over: Callable[[], bool]) -> None:
    """As the library's own suite waits."""
    end = asyncio.get_running_loop().time() + seconds
    while not is_over() and asyncio.get_running_loop().time() < end:
        await asyncio.sleep(0.02)
        await machine._engine.processing_loop()


async def w3c_case(path: Path) -> str | None:
    """None if it ends in `pass`."""
    machine = await start(path)
    await wait(machine, LONGEST_S, lambda: bool(machine.is_terminated))
    found = {state.id for state in machine.configuration}
    return None if "pass" in found else f"ends in {sorted(found)}"


async def scion_case(path: Path, script: Any) -> str | None:
    """None if it goes the expected way."""
    machine = await start(path)
    expected = set(script["initialConfiguration"])

    def is_there() -> bool:
        return {state.id for state in machine.configuration if not state.states} == expected

    await wait(machine, SETTLE_S, is_there)
    for part in script["events"]:
        if not is_there():
            break
        await wait(machine, part.get("after", 0) / 1000, lambda: False)
        data = part["event"].get("data", {})
        await machine.send(part["event"]["name"], **(data if isinstance(data, dict) else {"data": data}))
        expected = set(part["nextConfiguration"])
        await wait(machine, SETTLE_S, is_there)
    return None if is_there() else f"not in {sorted(expected)}"


def main() -> None:
    asked = json.load(sys.stdin)
    path = Path(asked["path"])
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):  # documents log
        try:
            outcome = asyncio.run(w3c_case(path) if asked["kind"] == "w3c" else scion_case(path, asked["script"]))
        except Exception as error:  # noqa: BLE001  # whatever it is, the case does not pass
            outcome = f"{type(error).__name__}: {error}"
    print(json.dumps(outcome))
    sys.stdout.flush()
    os._exit(0)  # threads of the library may still wait


if __name__ == "__main__":
    main()

"""The adapter of the port `Patterns`: searches for regular expressions in a process that can be killed.

Some patterns need exponential time on a text that they do not match. `re` holds the interpreter's lock meanwhile, so in
our own process no signal handler, heartbeat or timeout would run.
"""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rawko.machines.node_engine.explore.ports import PatternError
from rawko.processes.launching import with_default_signals

TIMEOUT_S: Final = 2.0
_SEARCHER: Final = Path(__file__).with_name("searcher.py")


class KillableSearch:
    """Implements `rawko.machines.node_engine.explore.ports.Patterns`.

    Args:
        timeout_s: For all patterns on one screen together.
    """

    def __init__(self, *, timeout_s: float = TIMEOUT_S) -> None:
        self._timeout_s = timeout_s

    async def found(self, patterns: Sequence[str], text: str) -> frozenset[str]:
        """The patterns that occur in the text."""
        if not patterns:
            return frozenset()
        asked = json.dumps({"patterns": list(patterns), "text": text}).encode()
        answered: list[bool] = []
        try:
            async with asyncio.timeout(self._timeout_s):
                await _search(asked, answered)
        except TimeoutError:
            slow = patterns[min(len(answered), len(patterns) - 1)]
            raise PatternError(f"the pattern {slow!r} takes longer than {self._timeout_s:g} s on this screen") from None
        except OSError as error:
            raise PatternError(f"no process to search for patterns can be started: {error.strerror}") from error
        if len(answered) != len(patterns):
            raise PatternError(f"the search for the pattern {patterns[len(answered)]!r} on this screen has failed")
        return frozenset(pattern for pattern, is_found in zip(patterns, answered, strict=True) if is_found)


async def _search(asked: bytes, answered: list[bool]) -> None:
    process = await asyncio.create_subprocess_exec(
        *with_default_signals([sys.executable, "-I", "-S", str(_SEARCHER)]),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={"LC_ALL": "C.UTF-8"},
        start_new_session=True,  # an interrupt from the keyboard must not reach it
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(asked)
        process.stdin.write_eof()
        async for line in process.stdout:
            answered.append(line.strip() == b"1")
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()

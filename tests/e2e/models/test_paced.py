"""A run that waits for its rate limit is killed with kill -9: the next process goes on counting."""

from __future__ import annotations

import json
import time

import psutil
import pytest

from tests.cli.conftest import Typed
from tests.cli.shell import Shell, call, says

DONE = says("developer", call("complete", summary="Done."))
READS = says("developer", call("glob", pattern="*"), call("glob", pattern="*.py"))


@pytest.mark.parametrize("kind", ["tool", "model"])
def test_a_killed_run_goes_on_counting(rawko: Shell, typed: Typed, kind: str) -> None:
    """With 20 s of time the rest of the minute does not fit: the run ends at its limit, and nothing more has passed.

    The run's time holds what both processes used, but not the pause between them. The resumed run is therefore in this
    process, which has loaded rawko by then; where the pause takes 40 s all the same, the minute may be over.
    """
    rawko.write(".rawko/config.yaml", f"rate: {{{'tools' if kind == 'tool' else 'calls'}_per_minute: 1}}\n")
    scenario = rawko.scenario(READS, DONE)
    started = rawko.start("run", "Look", "--agent", "developer", "--scenario", str(scenario), "--yes")

    def waits() -> bool:
        logs = rawko.state.glob("*/runs/*/log.jsonl")
        return any(f"the rate limit is 1 {kind} calls a minute" in log.read_text("utf-8") for log in logs)

    started.wait_until(waits)
    (run,) = [json.loads(line)["run"] for line in typed("runs", "--json").out.splitlines()]
    began = time.monotonic()
    psutil.Process(started.process.pid).kill()
    started.end()
    done = typed("resume", run, "--max-time", "20s", "--json")
    if done.code == 0 and (paused_s := time.monotonic() - began) >= 40:
        pytest.skip(f"kill and resume took {paused_s:.0f} s: the minute was over")
    assert (done.code, done.report["state"]) == (3, "out_of_budget"), done.text
    assert f"the rate limit is 1 {kind} calls a minute" in done.text
    assert done.report["usage"]["calls"] == 1

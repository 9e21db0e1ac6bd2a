"""Two small runs in a temporary folder, before the first process is forked from this one.

Whatever is built on first use (templates, charts with their bindings, validators, patterns, the interpreter's
specialised code) is built here once; otherwise each run would build it. No model is called, and no command runs.
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from rawko.app.run.headless import Headless
from rawko.app.run.run import Run
from rawko.config import Flags, load_settings
from rawko.processes.private import make_private
from rawko.trust.project import refuse
from rawko.workspace.packs.opening import URL_VARIABLE as PACKS_URL

_AGENT: Final = "developer"
_USAGE: Final = {"usage": {"input_tokens": 1, "output_tokens": 1}}


def rehearse() -> None:
    """Run the two runs; errors are ignored: the first real run would report them."""
    with suppress(Exception), tempfile.TemporaryDirectory(prefix="rawko-rehearsal-") as folder:
        for agent in (None, _AGENT):
            asyncio.run(_run(Path(folder), agent))


def _run(place: Path, agent: str | None) -> Any:
    workspace = make_private(place / (agent or "arbiter"))
    scenario = place / "scenario.json"
    scenario.write_text(json.dumps({"scenario": "rehearsal", "replies": _replies(agent)}), encoding="utf-8")
    environ = {
        "HOME": str(place),
        "PATH": os.environ.get("PATH", ""),
        "RAWKO_STATE_DIR": str(place / "state"),
        PACKS_URL: str(place / "packs"),
    }
    flags = Flags({"provider": "scripted", "scenario": str(scenario), "assume_yes": True, "sandbox": False})
    settings = load_settings(workspace, flags, environ, judge=refuse)
    people = Headless(settings.headless, settings.default_answers)
    return Run(settings, "Rehearse.", agent, people, _unseen, _unheard, id=f"rehearsal-{agent}").execute()


def _replies(agent: str | None) -> list[Mapping[str, Any]]:
    calls = [
        ("write", {"file_path": "one.txt", "content": "one\n" * 40}),
        ("write", {"file_path": "in/two.txt", "content": "two\n"}),
        ("read", {"file_path": "one.txt"}),
        ("edit", {"file_path": "in/two.txt", "old_string": "two", "new_string": "three"}),
        ("complete", {"summary": "Done."}),
    ]
    turns: list[Mapping[str, Any]] = [
        {"purpose": f"agent:{_AGENT}", "tool_calls": [{"name": name, "input": given}], **_USAGE}
        for name, given in calls
    ]
    if agent is not None:
        return turns
    chosen = {"type": "SELECT_MODE", "mode": _AGENT, "reason": "It is the one that writes."}
    return [
        {"purpose": "select", "decision": chosen, **_USAGE},
        *turns,
        {"purpose": "evaluate", "decision": {"type": "COMPLETE", "summary": "Done."}, **_USAGE},
    ]


def _unseen(event: object) -> None:
    """Ignores an inspection event."""


def _unheard(level: str, message: str, data: Mapping[str, Any]) -> None:
    """Ignores a log line."""

"""The work of one run, the same for all contenders: a scripted model's turns, each of which writes one file.

A run of 50 steps is 25 turns: a call of the model, then a call of the tool `write`. A last call of the model ends it.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.cli.shell import call, says

AGENT = "developer"
ALLOWED = frozenset({"write", "read", "edit"})
_LINE = "The turn's own line of text, as long as a short one of a program is.\n"


def turns(steps: int) -> int:
    """Turns of a run of so many steps."""
    return max(steps // 2, 1)


def file_of(turn: int) -> tuple[str, str]:
    """Name and content of the file that a turn writes."""
    return f"part{turn:03}.txt", f"turn {turn}\n{_LINE * 8}"


def scenario(steps: int, answer_s: float = 0.0) -> Mapping[str, Any]:
    """What the scripted provider of rawko answers, each time after so many seconds."""
    written = [file_of(turn) for turn in range(turns(steps))]
    replies = [says(AGENT, call("write", file_path=name, content=content)) for name, content in written]
    replies.append(says(AGENT, call("complete", summary="Written.")))
    delay = {"delay": f"{answer_s * 1000:.0f}ms"} if answer_s else {}
    return {"scenario": "bench", "replies": [{**reply, **delay} for reply in replies]}


def answer(turn: int, steps: int) -> dict[str, Any]:
    """The model's answer to a turn, as the contenders without an agent's machine keep it."""
    if turn >= turns(steps):
        return {"tool": "complete", "summary": "Written."}
    name, content = file_of(turn)
    return {"tool": "write", "file_path": name, "content": content}


def ask(turn: int, steps: int, answer_s: float) -> dict[str, Any]:
    """The model's answer after so many seconds, for contenders whose calls may block."""
    time.sleep(answer_s)
    return answer(turn, steps)


def is_allowed(folder: str, answered: Mapping[str, Any]) -> bool:
    """Whether a call of a tool may be made: a tool that is known, on a path inside of the folder."""
    path = os.path.realpath(os.path.join(folder, str(answered.get("file_path", ""))))  # noqa: PTH118 - of texts
    return answered["tool"] in ALLOWED and path.startswith(os.path.realpath(folder) + os.sep)


def carry_out(folder: str, answered: Mapping[str, Any]) -> str:
    """The tool's call: written beside, then renamed, as rawko's tool does it; what it says."""
    path = Path(folder) / str(answered["file_path"])
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".new")
    beside.write_text(str(answered["content"]), encoding="utf-8")
    beside.rename(path)
    return f"created {path.name}"


def problem(folder: Path, steps: int) -> str:
    """What is wrong with the files of a run that has ended; "" where nothing is."""
    expected = dict(file_of(turn) for turn in range(turns(steps)))
    found = {path.name: path.read_text("utf-8") for path in folder.glob("*") if path.is_file()}
    return "" if found == expected else f"{folder.name}: {len(found)} of {len(expected)} files, or other contents"


def as_text(steps: int, answer_s: float) -> str:
    """The scenario as a file holds it."""
    return json.dumps(scenario(steps, answer_s))

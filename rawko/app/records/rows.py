"""Describes journal rows in a few words, and says which rows a rewind has left behind."""

from __future__ import annotations

from collections.abc import Sequence

from rawko.cutting import cut_line
from rawko.runtime.journal import StepRecord
from rawko.runtime.replay.rewind_records import jump_of

SHORT_CHARS = 40
"""Longest excerpt of an answer in a line, in characters."""


def cause_of(record: StepRecord) -> str:
    """The cause of a row: its event, the jump that it records, or (for rows without an event) the start or resume."""
    jump = jump_of(record)
    if jump is not None:
        files = jump.step or f"snapshot {(jump.files or '')[:7]}"
        return _JUMPS[jump.kind].format(jump=jump, files=files)
    if record.event is not None:
        return str(record.event["name"])
    starts = [effect for effect in record.effects if effect["type"] == "start"]
    if starts and all(effect["attempt"] > 1 or effect["resumed"] for effect in starts):
        return "(resumed)"
    if record.effects and all(effect["type"] == "send" for effect in record.effects):
        return "(a delayed send)"
    return "(start)"


def decision_of(record: StepRecord) -> str:
    """Who decided in a row, and what: the gate with its rule, or a person with an answer; "" for no decision."""
    if record.event is None:
        return ""
    name, data = record.event["name"], record.event["data"]
    match name:
        case "done.invoke.check_gate":
            verdict = data["output"]
            return f"{verdict['decision']} by {verdict['rule']}"
        case "done.invoke.ask_person":
            answer = data["output"]
            return "nobody there" if answer is None else f"{answer['who']}: {_short(answer['text'])}"
        case "APPROVE":
            return f"{data.get('who') or 'somebody'}: {data.get('scope') or 'once'}"
        case "DENY":
            return f"{data.get('who') or 'somebody'}: {_short(data.get('reason') or 'deny')}"
        case "USER_MESSAGE":
            return f"{data.get('who') or 'somebody'}: {_short(data.get('content') or '')}"
        case "FORCE_AGENT":
            return f"{data.get('who') or 'somebody'}: {_short(data.get('agent_name') or '')}"
        case "CANCEL" | "SKIP_STEP" | "RETRY":
            return str(data.get("who") or "")
        case "RATE_WAIT":
            return f"{data['wait_ms'] / 1000:.1f} s: {data['limit']}"
        case "FOLLOW_UP":
            return f"continues {data['run']}"
        case _:
            return ""


def _short(text: object) -> str:
    return cut_line(str(text), SHORT_CHARS)


_JUMPS = {
    "rewind": "(rewound to {jump.step})",
    "files": "(files of {files})",
    "fork": "(fork of {jump.run}@{jump.step})",
    "adopt": "(adopted {jump.run}@{files})",
    "migrate": "(charts of today)",
}


class Line:
    """The line of steps that leads to the latest one, without those that rewinds have left behind.

        rewinds (86, 30), (120, 100)    left behind: 31 to 85, 101 to 119
        rewinds (86, 30), (120, 50)     left behind: 51 to 119, the first rewind among them

    Args:
        rewinds: Row of each rewind and the step that it went back to, in order of rows.
    """

    def __init__(self, rewinds: Sequence[tuple[int, int]]) -> None:
        self._left: list[tuple[int, int]] = []
        end: int | None = None
        for row, step in reversed(rewinds):
            if end is not None and row > end:
                continue  # this rewind itself was left behind
            self._left.append((step, row))
            end = step

    def leaves_behind(self, step: int) -> bool:
        """Whether a rewind has left a step behind."""
        return any(after < step < until for after, until in self._left)

"""What a row of the journal is about, in words; and which rows the run has left behind."""

from __future__ import annotations

from collections.abc import Sequence

from rawko.cutting import cut_line
from rawko.runtime.journal import StepRecord
from rawko.runtime.replay.rewind_records import jump_of

SHORT_CHARS = 40
"""Of an answer in a line about it."""


def cause_of(record: StepRecord) -> str:
    """What a row is about: its event, where the run went, or why there is neither."""
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
    """Who decided what in a row, in short: the gate with its rule, a person with an answer; "" for no decision."""
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
    """The steps that lead to the latest one: a rewind leaves those behind that came after its step.

    Args:
        rewinds: Row of each rewind with the step that it went to, in order.
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
        """Whether a step is not among those that lead to the latest one."""
        return any(after < step < until for after, until in self._left)

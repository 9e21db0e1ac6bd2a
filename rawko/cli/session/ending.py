"""Prints the end of a session's task: results that are not on the screen yet, then one line with the verdict.

✓ Task completed · 2 files, +31 −4 · 12k/1.4k tokens · $0.0312 · 14.2s · run 29604ab
"""

from __future__ import annotations

import sys
from typing import TextIO

from rawko.app.run.report import Report
from rawko.cli.amounts import duration, in_and_out, money
from rawko.cli.live.footer import terminal_size
from rawko.cli.live.wrapping import wrapped
from rawko.cli.output import Painter, visible, visible_line
from rawko.cli.summary import REMEDIES, VERDICTS, diffstat

_MARKS = {"success": "✓", "failure": "✗"}
_HOW_ON = {
    "needs_person": "the task waits for your answer: /resume asks again, /cancel ends it",
    "interrupted": "the task was interrupted: /resume goes on with it, /cancel ends it",
}


def print_ending(report: Report, said: str) -> None:
    """Print the end of a task.

    Args:
        said: The model's text that is on the screen already.
    """
    paint = Painter(sys.stdout)
    verdict, colour = VERDICTS[report.outcome]
    if report.outcome != "cancelled" and report.summary.strip() not in said:
        print_wrapped(visible(report.summary))
    for note in report.notes:
        print_wrapped(paint(f"note: {visible_line(note)}", "yellow"))
    mark = _MARKS.get(report.outcome, "■")
    counts = " · ".join(_counts(report))
    print_wrapped(paint(f"{mark} {verdict}", "bold", colour) + paint(f" · {counts}", "dim"))
    for line in (_how_on(report), REMEDIES.get(str((report.error or {}).get("code")), "")):
        if line:
            print_wrapped(line)


def print_wrapped(text: str, stream: TextIO | None = None) -> None:
    """Print lines, wrapped at words to the terminal's width.

    Args:
        stream: Standard output, if None.
    """
    stream = stream or sys.stdout
    columns = terminal_size(stream)[0]
    print("\n".join(wrapped(line, columns) for line in text.split("\n")), file=stream)


def _how_on(report: Report) -> str:
    if report.state == "out_of_budget" or (report.outcome == "limit" and report.question is not None):
        return f"the budget of the task is used up: rawko resume {report.run} --max-cost USD, or /cancel"
    return _HOW_ON.get(report.outcome, "")


def _counts(report: Report) -> list[str]:
    usage = report.usage
    counts = diffstat(report.diff).values()
    added, removed = (sum(one[side] for one in counts) for side in (0, 1))
    lines = " ".join([*([f"+{added}"] if added else []), *([f"−{removed}"] if removed else [])])
    files = len(report.files_changed)
    return [
        part
        for part in (
            f"{files} file{'' if files == 1 else 's'}{', ' if lines else ''}{lines}" if files else "no files changed",
            _tokens(in_and_out(usage.total_tokens - usage.output_tokens, usage.output_tokens)),
            money(report.cost_usd) if report.cost_usd else "",
            duration(report.duration_ms / 1000),
            f"run {report.run.rpartition('-')[2]}",
        )
        if part
    ]


def _tokens(amounts: str) -> str:
    return f"{amounts} tokens" if amounts else ""

"""An exploration as one self-contained page, HTML or Markdown: its screens and decisions, in order. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from pathlib import PurePath
from typing import Any, Final

from rawko.app.exploration.limits import FLAGS
from rawko.app.exploration.record import Attempt
from rawko.app.exploration.report import ExplorationReport
from rawko.vocabulary.visible import exact_line, visible, visible_line

_STYLE: Final = """
:root { color-scheme: light dark; --line: #8884; --soft: #8882; --bad: #c0392b; --good: #1e8449; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.3rem; } h1 code { background: var(--soft); padding: .1em .4em; border-radius: .3em; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; } dt { opacity: .7; } dd { margin: 0; }
ol { list-style: none; padding: 0; } li { border-left: 3px solid var(--line); padding: .2rem 0 .2rem 1rem; }
li.decided { border-color: #2e86c1; } li.dead_end, li.launch_failed, li.failed { border-color: var(--bad); }
.step { opacity: .6; font-size: .85em; margin-right: .6em; }
pre { background: #16191d; color: #e6e6e6; padding: .8rem; overflow-x: auto; border-radius: .4rem; line-height: 1.25; }
pre mark { background: #4d5b2b; color: inherit; } .success { color: var(--good); } .failure { color: var(--bad); }
"""


def page_of(report: ExplorationReport, attempts: Sequence[Attempt], *, name: str) -> str:
    """The page in the format of the file name: Markdown for `.md`, else HTML."""
    is_markdown = PurePath(name).suffix.lower() in (".md", ".markdown")
    return _markdown(report, attempts) if is_markdown else _html(report, attempts)


def _facts(report: ExplorationReport) -> Iterator[tuple[str, str]]:
    yield "outcome", report.outcome
    if report.summary:
        yield "summary", report.summary
    if report.reason:
        yield "reason", report.reason
    yield "program", "was ended" if report.exit_status is None else f"ended with status {report.exit_status}"
    yield "decisions", f"{len(report.decisions)} at {report.screens} screens"
    yield "launches", f"{report.launches}, {report.backtracks} of them after dead ends"
    yield "tokens", f"{report.usage.total_tokens:,} in {report.usage.calls} calls"
    yield "time", f"{report.duration_ms / 1000:.1f} s, {report.attempts} attempts"
    for one in report.continued:
        yield "continued", continuation_text(one)
    yield "run", report.run
    for note in report.notes:
        yield "note", note


def continuation_text(continued: Mapping[str, Any]) -> str:
    """A continuation of an exploration, in words."""
    flag = FLAGS.get(continued["why"])
    return f"after {continued['after']} attempts: {continued['why'] if flag is None else f'limit reached ({flag})'}"


def event_text(event: Mapping[str, Any]) -> str:
    """An event in one line; "" for an event that people need not see."""
    words = _WORDS.get(event["type"])
    return "" if words is None else visible_line(words(event))


def _launched(event: Mapping[str, Any]) -> str:
    replayed, is_diverged = event["replayed"], event["is_diverged"]
    how = f"; {replayed} decisions repeated" if replayed else ""
    other = "; then the program showed something else than before" if is_diverged else ""
    return f"launched (process {event['pid']}){how}{other}"


def _screen(event: Mapping[str, Any]) -> str:
    count = len(event["changed"])
    changed = f"{count} line{'' if count == 1 else 's'} changed" if count else "the same text"
    ended = "" if event["exit_status"] is None else f"; the program has ended with status {event['exit_status']}"
    return f"screen: {changed}{ended}"


_WORDS: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    "LAUNCHED": _launched,
    "LAUNCH_FAILED": lambda event: f"launch failed: {event['message']}",
    "ATTACHED": lambda event: "the program runs already",
    "PROGRAM_GONE": lambda event: "the program is gone; it is launched anew",
    "SCREEN": _screen,
    "SETTLED": lambda event: "" if event["is_quiet"] else "it does not get quiet",
    "DECIDED": lambda event: f"{event['gist']}{_by(event)}{': ' if event['reason'] else ''}{event['reason']}",
    "DEAD_END": lambda event: f"dead end: {event['why']}",
    "STOPPED": lambda event: "the program was ended" if event["was_running"] else "the program had ended",
    "FAILED": lambda event: f"failed: {event['message']}",
    "ATTEMPT_INTERRUPTED": lambda event: f"interrupted: {event['reason']}",
}


def _by(event: Mapping[str, Any]) -> str:
    return {"model": " (the model)", "rule": f" (rule {event['rule']})"}.get(event["by"], "")


# ---------------------------------------------------------------- HTML


def _html(report: ExplorationReport, attempts: Sequence[Attempt]) -> str:
    title = escape(exact_line(" ".join(report.command)))
    facts = "".join(
        f'<dt>{name}</dt><dd class="{escape(text) if name == "outcome" else ""}">{escape(visible(text))}</dd>'
        for name, text in _facts(report)
    )
    items = "".join(_item(attempt, event) for attempt in attempts for event in attempt.told)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{title}</title><style>{_STYLE}</style></head>\n"
        f"<body><h1>Exploration of <code>{title}</code></h1>\n<dl>{facts}</dl>\n<ol>\n{items}</ol></body></html>\n"
    )


def _item(attempt: Attempt, event: Mapping[str, Any]) -> str:
    words = event_text(event)
    if not words:
        return ""
    screen = _html_screen(event) if event["type"] == "SCREEN" else ""
    kind = escape(str(event["type"]).lower())
    step = f'<span class="step">{attempt.step} {escape(attempt.node)}</span>'
    return f'<li class="{kind}">{step}{escape(words)}{screen}</li>\n'


def _html_screen(event: Mapping[str, Any]) -> str:
    changed = {line["line"] for line in event["changed"]}
    lines = [escape(visible(line)) for line in event["screen"]["text"].split("\n")]
    marked = [f"<mark>{line}</mark>" if number in changed and line else line for number, line in enumerate(lines)]
    return "<pre>{}</pre>".format("\n".join(marked))


# ---------------------------------------------------------------- Markdown


def _markdown(report: ExplorationReport, attempts: Sequence[Attempt]) -> str:
    facts = "\n".join(f"- {name}: {_inline(text)}" for name, text in _facts(report))
    items = "\n".join(_paragraph(attempt, event) for attempt in attempts for event in attempt.told)
    return f"# Exploration of `{exact_line(' '.join(report.command)).replace('`', '')}`\n\n{facts}\n\n{items}\n"


def _paragraph(attempt: Attempt, event: Mapping[str, Any]) -> str:
    words = event_text(event)
    if not words:
        return ""
    screen = "" if event["type"] != "SCREEN" else f"\n{_fenced(event['screen']['text'])}"
    return f"{attempt.step}. {attempt.node}: {_inline(words)}\n{screen}"


def _fenced(text: str) -> str:
    longest = max((len(found) for found in re.findall("`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}text\n{visible(text)}\n{fence}\n"


def _inline(text: str) -> str:
    """Text with all of Markdown's special characters escaped."""
    return re.sub(r"([\\`*_{}\[\]<>#|&~])", r"\\\1", visible_line(text.replace("\n", " ")))

"""The toolbar below the input: agent, model, usage, and the used part of the model's window.

    developer · claude-sonnet-5 · 12k/1.4k tokens · $0.0312 · context 9%

On a narrow terminal, parts are left out, the least important first.
"""

from __future__ import annotations

from rawko.app.conversations.spending import Spending
from rawko.cli.amounts import in_and_out, money
from rawko.cli.live.status import narrowed
from rawko.cli.live.wrapping import cells
from rawko.vocabulary.visible import visible_line

LEAVING = "press Ctrl-C again to leave"
ARBITER = "arbiter"
"""The word of the toolbar and of `/agent` for running without a single agent."""


def toolbar(agent: str | None, model: str, spending: Spending, context: float | None, columns: int) -> str:
    """The toolbar, at most `columns - 1` cells wide.

    Args:
        context: The used part of the model's window, 0 to 1; None where it is unknown.
    """
    usage = spending.usage
    amounts = in_and_out(usage.total_tokens - usage.output_tokens, usage.output_tokens)
    parts = [
        (0, visible_line(agent or ARBITER)),
        (1, visible_line(model)),
        (3, f"{amounts} tokens" if amounts else ""),
        (4, money(spending.cost_usd) if spending.cost_usd else ""),
        (2, "" if context is None else f"context {context:.0%}"),
        (5, "/help"),
    ]
    kept = [(rank, text) for rank, text in parts if text]
    room = columns - 1
    while len(kept) > 1 and cells(_joined(kept)) > room:
        kept.remove(max(kept))
    return narrowed(_joined(kept), room, cells)


def _joined(parts: list[tuple[int, str]]) -> str:
    return " · ".join(text for _, text in parts)

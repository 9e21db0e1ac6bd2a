"""What was measured, as text: one table per case, and one of everything for a page."""

from __future__ import annotations

from collections.abc import Sequence

from tests.bench.measure import Row


def amount(value: float | None) -> str:
    """Three digits, in a unit that people read."""
    if value is None:
        return "–"
    if value >= 100_000:
        return f"{value / 1000:,.0f} ms"
    if value >= 10_000:
        return f"{value / 1000:.1f} ms"
    return f"{value:,.0f} µs" if value >= 100 else f"{value:.1f} µs" if value >= 10 else f"{value:.2f} µs"


def bytes_(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f} B"


def case_table(title: str, unit: str, rows: Sequence[Row], *, show: object = amount) -> str:
    """One case: the median of each contender, its spread, and how it compares with the first one."""
    assert callable(show)
    first = rows[0].median
    lines = [f"{title} (per {unit})"]
    for row in rows:
        if row.median is None:
            lines.append(f"  {row.contender:<22} {row.note}")
            continue
        ordered = sorted(row.microseconds)
        low, high = ordered[len(ordered) // 4], ordered[-1 - len(ordered) // 4]
        ratio = f"{row.median / first:8.2f} x" if first else ""
        spread = f"{show(low)} … {show(high)}" if len(ordered) > 1 else ""
        lines.append(f"  {row.contender:<22} {show(row.median):>10} {ratio}   {spread}")
    return "\n".join(lines)


def page_table(found: Sequence[tuple[str, Sequence[Row], object]]) -> str:
    """All cases as one Markdown table, contenders in columns."""
    names = [row.contender for row in found[0][1]]
    lines = ["| | " + " | ".join(names) + " |", "|---|" + "---:|" * len(names)]
    for title, rows, show in found:
        assert callable(show)
        cells = [show(row.median) if row.median is not None else "–" for row in rows]
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return "\n".join(lines)

"""The page of what no test has found: `docs/mutants.md`."""

from __future__ import annotations

from collections.abc import Sequence


def page(rooms: Sequence[str], seed: int, count: int, surviving: Sequence[str]) -> str:
    """Markdown: how many defects were put in, how many were found, and each that was not."""
    found = count - len(surviving)
    lines = [
        "# Defects that no test finds",
        "",
        "`make mutants` puts small defects into the code, one at a time: a turned comparison, a bound off by one, a",
        "lost `not`, a statement left out, a value not given back. A defect is found where a test fails.",
        "",
        f"Rooms: {', '.join(rooms)}. Seed {seed}. {found} of {count} found ({100 * found / max(1, count):.1f} %).",
        "",
    ]
    if surviving:
        lines += ["Not found:", "", *(f"- {text}" for text in surviving), ""]
    return "\n".join(lines)

"""The page of what no test has found: `docs/mutants.md`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run came to.

    Attributes:
        rooms: Of `rawko/`.
        count: Of the defects that were tried.
        equivalent: Defects that no test can find, each with the reason.
        surviving: Defects that no test has found, though one could.
        before: How many were found by a former run and not tried again.
    """

    rooms: Sequence[str]
    seed: int
    count: int
    equivalent: Sequence[tuple[str, str]]
    surviving: Sequence[str]
    before: int = 0

    @property
    def countable(self) -> int:
        """Defects that a test can find."""
        return self.count - len(self.equivalent)

    @property
    def found(self) -> int:
        return self.countable - len(self.surviving)

    @property
    def share(self) -> float:
        """Of the countable defects, those that were found, from 0 to 1."""
        return self.found / max(1, self.countable)

    @property
    def sentence(self) -> str:
        text = f"{self.found} of {self.countable} found ({100 * self.share:.1f} %)"
        return f"{text}, {len(self.equivalent)} more are equivalent." if self.equivalent else f"{text}."


def page(outcome: Outcome) -> str:
    """Markdown: how many defects were tried, how many were found, and each that was not."""
    lines = [
        "# Defects that no test finds",
        "",
        "`make mutants` puts small defects into the code, one at a time: a reversed comparison, a bound off by one, a",
        "lost `not`, a deleted statement, a missing return value. A defect is found if a test fails. Which tests run",
        "which line is measured first; each defect is tried only on the tests that run its line.",
        "",
        f"Rooms: {', '.join(outcome.rooms)}. Seed {outcome.seed}, {outcome.count} defects. {outcome.sentence}",
        "",
    ]
    if outcome.before:
        lines += [
            f"Of these, {outcome.before} were found by an earlier run over the same lines; the others were tried again",
            "with the tests added since.",
            "",
        ]
    if outcome.surviving:
        lines += ["## Not found", "", *(f"- {text}" for text in outcome.surviving), ""]
    if outcome.equivalent:
        lines += ["## Equivalent", "", "These defects change no visible behaviour, so that no test can find them.", ""]
        lines += [*(f"- {text}: {why}" for text, why in outcome.equivalent), ""]
    return "\n".join(lines)

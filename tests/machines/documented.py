"""A page that describes a machine, and its chart: what a test needs to hold one to the other."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rawko.chart import Chart


@dataclass(frozen=True)
class Documented:
    """A page and the chart that it describes."""

    text: str
    chart: Chart

    def snippets(self, language: str) -> list[str]:
        """All code blocks of the page in a language, in order."""
        return re.findall(rf"^```{language}\n(.*?)^```", self.text, re.MULTILINE | re.DOTALL)

    def has_way(self, source: str, target: str) -> bool:
        """Whether a transition of the state, or of one inside it, leads to the target or into it."""
        sources = {source, *self.chart.descendants(source)}
        targets = {target, *self.chart.descendants(target)}
        return any(t.source in sources and targets & set(t.targets) for t in self.chart.transitions)

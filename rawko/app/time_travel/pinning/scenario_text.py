"""A scenario of a contract as it is written: its lines with their JSON values, and the text of a feature file. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from rawko.testing.scene import Scene

INLINE_CHARS: Final = 90
"""A longer value stands below its line."""


class _Nothing:
    """In the place of a JSON value where there is none."""


NOTHING: Final = _Nothing()


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a scenario: "Given", "When" or "Then", what it says, and the JSON value that it ends with."""

    kind: str
    says: str
    value: Any = NOTHING

    @property
    def written(self) -> tuple[str, str | None]:
        """The line, and what stands below it: a value that is too long to stand in it."""
        if self.value is NOTHING:
            return self.says, None
        text = as_json(self.value)
        if len(self.says) + len(text) <= INLINE_CHARS:
            return f"{self.says} {text}", None
        return self.says, as_json(self.value, indent=2)

    @property
    def size(self) -> int:
        """How much there is to read."""
        return len(self.says) + (0 if self.value is NOTHING else len(as_json(self.value)))

    def run(self, scene: Scene) -> None:
        """Do what it says.

        Raises:
            ContractBroken, ContractMistake: It does not hold, or cannot be meant.
        """
        says, below = self.written
        scene.run(self.kind, says, below)


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario that holds."""

    title: str
    lines: tuple[Line, ...]

    def text(self) -> str:
        """As a feature file has it, indented by two."""
        return "\n".join([f"  Scenario: {self.title}", *self._lines()]) + "\n"

    def _lines(self) -> Iterator[str]:
        before = ""
        for line in self.lines:
            word = "And" if line.kind == before else line.kind.capitalize()
            before = line.kind
            says, below = line.written
            yield f"    {word} {says}"
            if below is not None:
                yield '      """'
                yield from (f"      {text}" for text in below.split("\n"))
                yield '      """'


def as_json(value: Any, indent: int | None = None) -> str:
    """JSON that a feature file can hold, whatever the texts in it."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    # What readers of features take for the end of a text or a line is written as JSON's escape.
    text = text.replace(r"\"\"\"", r"\u0022\u0022\u0022")
    return re.sub("[\x7f-\xa0\u2028\u2029\ufeff]", lambda match: f"\\u{ord(match[0]):04x}", text)

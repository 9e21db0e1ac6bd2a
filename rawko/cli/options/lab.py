"""Options of `rawko lab`."""

from __future__ import annotations

from typing import Annotated, NamedTuple, Optional

import typer

from rawko.cli.options import completing
from rawko.cli.options.common import Trust
from rawko.cli.options.expanding import NO_FLAGS, Takes
from rawko.config.flags import Flags
from rawko.config.row import Row

_TAKEN = ("provider", "scenario", "cassette", "record", "budget.cost_usd", "budget.tokens", "budget.time")

_WORDS = {
    "cassette": "Answers come from this recording instead of a model.",
    "budget.cost_usd": "US dollars at most, for all questions together.",
    "budget.tokens": "Tokens at most, for all questions together.",
    "budget.time": "Ask for this long at most, e.g. 90s, 30m, 2h.",
}


def _counts(row: Row) -> bool:
    """Whether a row is a setting of the provider or of the budget; all other settings are those of the recorded run."""
    return row.name in _TAKEN


class LabOptions(NamedTuple):
    """The runs, the variants, and how often each question is asked."""

    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN...",
            help="Runs whose decisions are asked again: their ids, or last.",
            show_default=False,
            autocompletion=completing.runs,
        ),
    ]
    without: Annotated[
        Optional[list[str]],  # noqa: UP045 - typer reads the annotation at run time
        typer.Option(metavar="FIELD", help="Leave this out of each question; each field alone by default. Repeatable."),
    ] = None
    window: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(metavar="KEY=N", help="Show more or less of the past: history=5,summary_chars=100. Repeatable."),
    ] = None
    model: Annotated[Optional[list[str]], typer.Option(metavar="NAME", help="Ask this model, too. Repeatable.")] = None  # noqa: UP045
    template: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(metavar="FILE", help="Ask with select.md.j2, evaluate.md.j2 or arbiter.md.j2. Repeatable."),
    ] = None
    repeat: Annotated[
        int,
        typer.Option(metavar="N", min=1, max=100, help="Times to ask each question, since answers of a model vary."),
    ] = 1
    limit: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(metavar="N", min=1, help="Ask only the first N decisions."),
    ] = None
    write: Annotated[bool, typer.Option("--write", help="Write the proposed `context:` into the agents' files.")] = (
        False
    )
    flags: Annotated[Flags, Takes(_counts, _WORDS)] = NO_FLAGS
    json: Annotated[bool, typer.Option("--json", help="Everything, as one JSON object.")] = False
    trust: Trust = False

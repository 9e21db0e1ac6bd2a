"""Commands that take their options as one value: what typer sees of them, and what they are given."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import pytest
import typer

from rawko.cli.options.expanding import NO_FLAGS, Takes, expanded
from rawko.config.flags import Flags

BUDGET = Takes(lambda row: row.field == "budget", {"budget.tokens": "Other words."})


class Options(NamedTuple):
    name: Annotated[str, typer.Argument(metavar="NAME")]
    flags: Annotated[Flags, BUDGET] = NO_FLAGS
    loud: Annotated[bool, typer.Option("--loud")] = False


@pytest.fixture
def given() -> list[Any]:
    return []


@pytest.fixture
def command(given: list[Any]) -> typer.Typer:
    app = typer.Typer(add_completion=False, rich_markup_mode=None)

    @app.command()
    @expanded
    def greet(options: Options, times: Annotated[int, typer.Option()] = 1) -> None:
        """Greet."""
        given.append((options.name, dict(options.flags.items()), options.loud, times))

    return app


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["x"], ("x", {}, False, 1)),
        (["x", "--loud", "--times", "3"], ("x", {}, True, 3)),
        (["x", "--max-tokens", "5"], ("x", {"budget.tokens": 5}, False, 1)),
        (
            ["--max-cost", "0.5", "x", "--max-time", "2m"],
            ("x", {"budget.cost_usd": 0.5, "budget.time": "2m"}, False, 1),
        ),
    ],
)
def test_a_command_gets_its_options_as_one_value(
    command: typer.Typer, given: list[Any], words: list[str], expected: tuple[Any, ...]
) -> None:
    command(words, standalone_mode=False)
    assert given == [expected]


def test_the_help_has_the_words_of_the_table(command: typer.Typer, capsys: pytest.CaptureFixture[str]) -> None:
    command(["--help"], standalone_mode=False)
    told = capsys.readouterr().out
    assert "US dollars at most, for the whole run." in told
    assert "Other words." in told
    assert "Tokens at most" not in told
    assert "Greet." in told


def test_a_value_of_another_type_is_refused(command: typer.Typer, given: list[Any]) -> None:
    with pytest.raises(SystemExit) as ended:
        command(["x", "--max-tokens", "0"])
    assert ended.value.code == 2
    assert given == []

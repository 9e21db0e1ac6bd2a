"""Only the command that is called is made; it is the same command as among all the others."""

from __future__ import annotations

import pytest
from typer import Typer
from typer.core import TyperGroup
from typer.main import get_command
from typer.testing import CliRunner

from rawko.cli.commands.application import application

APP = application()


def commands(app: Typer) -> list[str]:
    group = get_command(app)
    assert isinstance(group, TyperGroup)
    return list(group.commands)


ALL = commands(APP)


@pytest.mark.parametrize("name", sorted(ALL))
def test_a_command_is_made_alone_and_is_the_same(name: str) -> None:
    alone = application([name, "--help"])
    assert commands(alone) == [name]
    shown = [CliRunner().invoke(one, [name, "--help"], prog_name="rawko") for one in (alone, APP)]
    assert shown[0].exit_code == shown[1].exit_code == 0
    assert shown[0].output == shown[1].output


@pytest.mark.parametrize("words", [[], ["--help"], ["rnu"], ["--version"], ["--install-completion"]])
def test_words_that_name_no_command_get_all_of_them(words: list[str]) -> None:
    assert commands(application(words)) == ALL

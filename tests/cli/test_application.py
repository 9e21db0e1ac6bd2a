"""Only the command that is called is made; it is the same command as among all the others."""

from __future__ import annotations

import pytest
from typer import Typer
from typer.core import TyperGroup
from typer.main import get_command

from rawko.cli.commands.application import application


def group_of(app: Typer) -> TyperGroup:
    group = get_command(app)
    assert isinstance(group, TyperGroup)
    return group


WHOLE = group_of(application())
"""The group of all commands: making it takes as long as making each of them."""
ALL = list(WHOLE.commands)


@pytest.mark.parametrize("name", sorted(ALL))
def test_a_command_is_made_alone_and_is_the_same(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    alone = group_of(application([name, "--help"]))
    assert list(alone.commands) == [name]
    shown = []
    for group in (alone, WHOLE):
        with pytest.raises(SystemExit) as ended:
            group.main([name, "--help"], prog_name="rawko")
        assert ended.value.code == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1] != ""


@pytest.mark.parametrize("words", [[], ["--help"], ["rnu"], ["--version"], ["--install-completion"]])
def test_words_that_name_no_command_get_all_of_them(words: list[str]) -> None:
    assert list(group_of(application(words)).commands) == ALL

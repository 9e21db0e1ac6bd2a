"""Reads a command line that is one plain command and nothing else: all that a rule kept by a person may cover.

    git status -s 2>&1              [git, status, -s]
    ls; rm x    cat < x    A=1 make    echo $x    time ls    python3 <<E     None

The rules of a settings file fit each command of a line by itself; what such a command reads from its input, or in
which environment it runs, is not looked at. A rule that was kept with one key has to be narrower than that.
"""

from __future__ import annotations

import re
import shlex
from typing import Final

from rawko.tools.shell.reader import read_script
from rawko.tools.shell.words import SimpleCommand

_SPECIAL: Final = frozenset(";&|<>()$`{}#\\")
_HARMLESS_END: Final = re.compile(r"(?: +(?:2>&1|[12]?> ?/dev/null))+ *$")
"""Redirections that write no file."""


def single_command(line: str) -> SimpleCommand | None:
    """The command; None where the line holds anything beside its words, or cannot be read for sure."""
    bare = _HARMLESS_END.sub("", line.strip(" \n"))
    if not bare.isprintable() or not _SPECIAL.isdisjoint(bare):
        return None
    script = read_script(bare)
    if script.doubt or len(script.commands) != 1:
        return None
    command = script.commands[0]
    if not command.words or not command.is_plain:
        return None
    try:
        words = shlex.split(bare)
    except ValueError:
        return None
    # `time ls` and `! ls` hold words that are not of the command.
    return command if words == [word.text for word in command.words] else None

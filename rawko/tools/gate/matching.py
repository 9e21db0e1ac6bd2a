"""Whether a rule's pattern matches the subject of a call. It errs on the safe side: an allow rule needs a certain
match, a deny or ask rule only a possible one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from rawko.patterns.commands import command_regex
from rawko.patterns.globs import rule_regex
from rawko.tools.base import PathSubject
from rawko.tools.gate.rules import Rule
from rawko.tools.shell.words import SimpleCommand, base_name

Fit = Literal["yes", "maybe", "no"]

HIDDEN_COMMAND = SimpleCommand(words=(), is_plain=False)
"""Represents a command that a script may contain, but that could not be read."""


def fit_path(rule: Rule, subject: PathSubject) -> Fit:
    """An allow rule must match every spelling of the path; a deny or ask rule one of them, without regard to case, as
    on macOS's file system."""
    if rule.pattern is None:
        return "yes"
    if rule.decision == "allow":
        fits = all(re.fullmatch(rule_regex(rule.pattern), name) for name in subject.names)
    else:
        fits = any(re.fullmatch(rule_regex(rule.pattern), name, re.IGNORECASE) for name in subject.names)
    return "yes" if fits else "no"


def fit_command(rule: Rule, command: SimpleCommand) -> Fit:
    """An allow rule matches plain commands only; a deny or ask rule also matches, with doubt, a possible one.

                           deny bash(git push*)    allow bash(git push*)
    git push origin        yes                     yes
    git -C x push          maybe                   no
    git $x                 maybe                   no
    git status             no                      no
    """
    if rule.pattern is None:
        return "yes"
    regex = command_regex(rule.pattern)
    if rule.decision == "allow":
        return "yes" if command.is_plain and regex.fullmatch(command.text) else "no"
    if not command.words:
        return "maybe"
    from rawko.tools.shell.running import run_by  # not at the top: its tables take time, and most starts need none

    runs = run_by(command)
    if any(_is_meant(regex, one) for one in runs.certain):
        return "yes"
    if runs.doubt or any(_is_meant(regex, one) for one in runs.possible):
        return "maybe"
    return "maybe" if any(_resembles(rule.pattern, one) for one in (*runs.certain, *runs.possible)) else "no"


def _is_meant(regex: re.Pattern[str], command: SimpleCommand) -> bool:
    """Whether the pattern matches any spelling of the program: with its folder, or in upper case (as on macOS)."""
    first, *rest = (word.text for word in command.words)
    names = dict.fromkeys((first, base_name(first), base_name(first).lower()))
    return any(regex.fullmatch(" ".join([name, *rest])) for name in names)


def _resembles(pattern: str, command: SimpleCommand) -> bool:
    """Whether the command may be one that the pattern denies: its words in order with others between them
    (`git -C x push`), or hidden in an expansion."""
    first = command.words[0]
    if not first.is_literal:
        return True
    name = base_name(first.text)
    wanted = [command_regex(word) for word in pattern.split() if word != "*"]
    if wanted and not any(wanted[0].fullmatch(one) for one in (name, name.lower())):
        return False
    # A word that contains white space is text (a commit's message), never a subcommand.
    rest = [word for word in command.words[1:] if not re.search(r"\s", word.text)]
    return any(not word.is_literal for word in command.words) or _in_order(wanted[1:], [word.text for word in rest])


def _in_order(wanted: Sequence[re.Pattern[str]], tokens: Sequence[str]) -> bool:
    remaining = iter(tokens)
    return all(any(regex.fullmatch(token) for token in remaining) for regex in wanted)

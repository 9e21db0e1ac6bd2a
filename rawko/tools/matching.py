"""Whether a rule's pattern fits what a call is about. Cautious by decision: a pattern that allows needs certainty, one
that denies or asks needs only a doubt."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from rawko.patterns.commands import command_regex
from rawko.patterns.globs import rule_regex
from rawko.tools.base import PathSubject
from rawko.tools.rules import Rule
from rawko.tools.shell import SimpleCommand

Fit = Literal["yes", "maybe", "no"]

HIDDEN_COMMAND = SimpleCommand(words=(), is_plain=False)
"""A command that a script may hold and that could not be read."""

_RUNNERS = frozenset(
    (
        *("bash", "csh", "dash", "fish", "ksh", "mksh", "sh", "zsh"),
        *(".", "builtin", "command", "eval", "exec", "source", "time", "trap"),
        *("chroot", "doas", "env", "flock", "ionice", "nice", "nohup", "setsid", "stdbuf", "strace", "su", "sudo"),
        *("find", "parallel", "screen", "script", "ssh", "systemd-run", "timeout", "tmux", "unshare", "watch", "xargs"),
        *("awk", "gawk", "mawk", "node", "perl", "php", "python", "python2", "python3", "ruby"),
    )
)
"""Programs that run what their arguments say."""


def fit_path(rule: Rule, subject: PathSubject) -> Fit:
    """An allow rule must fit every spelling of the path, a deny or ask rule one of them (upper and lower case equal,
    as on macOS's file system)."""
    if rule.pattern is None:
        return "yes"
    if rule.decision == "allow":
        fits = all(re.fullmatch(rule_regex(rule.pattern), name) for name in subject.names)
    else:
        fits = any(re.fullmatch(rule_regex(rule.pattern), name, re.IGNORECASE) for name in subject.names)
    return "yes" if fits else "no"


def fit_command(rule: Rule, command: SimpleCommand) -> Fit:
    """An allow rule fits plain commands only; a deny or ask rule also fits, perhaps, what may turn out to be one."""
    if rule.pattern is None:
        return "yes"
    regex = command_regex(rule.pattern)
    if rule.decision == "allow":
        return "yes" if command.is_plain and regex.fullmatch(command.text) else "no"
    if not command.words:
        return "maybe"
    if any(regex.fullmatch(text) for text in (command.text, _with_base_name(command))):
        return "yes"
    return "maybe" if _resembles(rule.pattern, command) else "no"


def _with_base_name(command: SimpleCommand) -> str:
    first, *rest = (word.text for word in command.words)
    return " ".join([_base_name(first), *rest])


def _base_name(word: str) -> str:
    return word.rstrip("/").rpartition("/")[2]


def _resembles(pattern: str, command: SimpleCommand) -> bool:
    """Whether the command may be one that the pattern means: its words in order with others in between
    (`git -C x push`), behind another program (`sudo git push`, `sh -c 'git push'`), or hidden in an expansion."""
    first = command.words[0]
    if not first.is_literal:
        return True
    name = _base_name(first.text)
    wanted = [command_regex(word) for word in pattern.split() if word != "*"]
    is_hiding = any(not word.is_literal for word in command.words)
    if name in _RUNNERS:
        return is_hiding or _in_order(wanted, [token for word in command.words for token in _tokens(word.text)])
    if wanted and not wanted[0].fullmatch(name):
        return False
    # A word with white space in it is text (a commit's message), never a subcommand.
    return is_hiding or _in_order(
        wanted[1:], [word.text for word in command.words[1:] if not re.search(r"\s", word.text)]
    )


def _tokens(text: str) -> list[str]:
    return [_base_name(token) or token for token in re.findall(r"[^\s;|&()<>'\"`$,\[\]{}]+", text)]


def _in_order(wanted: Sequence[re.Pattern[str]], tokens: Sequence[str]) -> bool:
    remaining = iter(tokens)
    return all(any(regex.fullmatch(token) for token in remaining) for regex in wanted)

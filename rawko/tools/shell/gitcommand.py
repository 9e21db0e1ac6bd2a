"""Decides whether a call of `git` may run another program: by aliases, pagers, transports or hooks. Result: a doubt."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from rawko.tools.shell.words import Word

_VALUED: Final = frozenset(("-C", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--attr-source"))
_FLAGS: Final = re.compile(
    r"-[pPvh]|--(?:version|help|no-pager|paginate|bare|no-replace-objects|literal-pathspecs|glob-pathspecs|noglob-pathspecs"
    r"|icase-pathspecs|no-optional-locks|no-lazy-fetch|html-path|man-path|info-path|list-cmds=.*|(?:git-dir|work-tree|namespace)=.*)"
)
_SAFE_SETTING: Final = re.compile(
    r"(?:user\.(?:name|email|signingkey|useconfigonly)|color\.[\w.]+|advice\.\w+|init\.defaultbranch|(?:commit|tag)\.gpgsign"
    r"|safe\.\w+|core\.(?:quotepath|autocrlf|eol|abbrev|filemode|longpaths|symlinks|safecrlf|ignorecase|bare|precomposeunicode)"
    r"|diff\.(?:renames|noprefix|algorithm|context|mnemonicprefix|renamelimit|colormoved)|log\.\w+|status\.\w+"
    r"|merge\.(?:ff|conflictstyle|renames)|pull\.\w+|push\.(?:default|autosetupremote)|fetch\.prune|gc\.auto|rerere\.\w+"
    r"|http\.(?:sslverify|version|postbuffer|lowspeed\w+)|rebase\.(?:autostash|autosquash)|branch\.[\w./-]+\.(?:remote|merge|rebase)"
    r"|remote\.[\w-]+\.(?:fetch|prune)|submodule\.recurse|feature\.\w+|index\.\w+|column\.\w+|receive\.deny\w+"
    r"|(?:core\.pager|pager\.[\w-]+|core\.editor)=(?:cat|less|more|true|false|:|vi|vim|nano|))(?:=.*)?",
    re.IGNORECASE | re.DOTALL,
)
_SAFE: Final = frozenset(
    (
        *("add", "am", "annotate", "apply", "blame", "branch", "bundle", "cat-file", "check-attr", "check-ignore"),
        *(
            "check-mailmap",
            "check-ref-format",
            "checkout",
            "checkout-index",
            "cherry",
            "cherry-pick",
            "clean",
            "column",
        ),
        *(
            "checkout-index",
            "commit",
            "commit-graph",
            "commit-tree",
            "count-objects",
            "describe",
            "diff",
            "diff-files",
            "diff-index",
        ),
        *("diff-tree", "fast-export", "fast-import", "for-each-ref", "format-patch", "fsck", "gc", "hash-object"),
        *("index-pack", "init", "interpret-trailers", "log", "ls-files", "ls-tree", "mailinfo", "mailsplit", "merge"),
        *("merge-base", "merge-file", "merge-tree", "mktag", "mktree", "multi-pack-index", "mv", "name-rev", "notes"),
        *("pack-objects", "pack-refs", "patch-id", "prune", "prune-packed", "range-diff", "read-tree", "reflog"),
        *("remote", "repack", "replace", "request-pull", "rerere", "reset", "restore", "rev-list", "rev-parse"),
        *("revert", "rm", "shortlog", "show", "show-branch", "show-index", "show-ref", "sparse-checkout", "stage"),
        *("stash", "status", "stripspace", "switch", "symbolic-ref", "tag", "unpack-file", "unpack-objects"),
        *("update-index", "update-ref", "update-server-info", "var", "verify-commit", "verify-pack", "verify-tag"),
        *("version", "whatchanged", "worktree", "write-tree", "help"),
    )
)
"""Subcommands that run no program that the command line names."""

_RISKY: Final = {
    "clone": re.compile(r"--u.*|-[^-]*[uc].*|--c.*|--te.*"),
    "fetch": re.compile(r"--upl.*|--mul.*"),
    "pull": re.compile(r"--upl.*"),
    "ls-remote": re.compile(r"--u.*|--e.*"),
    "push": re.compile(r"--rece.*|--exe.*"),
    "archive": re.compile(r"--e.*|--r.*"),
    "rebase": re.compile(r"-[^-]*x.*|--exe.*"),
    "grep": re.compile(r"-[^-]*O.*|--op.*"),
    "bisect": re.compile(r"run|visualize|view"),
    "submodule": re.compile(r"foreach|update|--.*command.*"),
}
"""Whole words that name a command when another subcommand gets them."""

_READING: Final = re.compile(r"--get.*|--list|-l|--unset.*|--remove-section")


def git_doubt(words: Sequence[Word]) -> str:
    """Why `git` with these words (without "git" itself) may run another program; "" if it certainly does not."""
    at = 0
    while at < len(words) and (words[at].text.startswith("-") or words[at].may_be_option):
        word = words[at]
        if not word.is_literal:
            return "git gets options that cannot be read"
        if word.text == "-c":
            following = words[at + 1] if at + 1 < len(words) else None
            if following is None or not _is_safe_setting(following):
                return "git gets a setting with -c that may hold a command"
            at += 2
        elif word.text in _VALUED:
            at += 2
        elif _FLAGS.fullmatch(word.text):
            at += 1
        else:
            return f"git gets the option {word.text!r}"
    if at >= len(words):
        return ""
    if not words[at].is_literal:
        return "git's subcommand cannot be read"
    return _subcommand_doubt(words[at].text, words[at + 1 :])


def _is_safe_setting(word: Word) -> bool:
    """`name=value`; for a safe name, any value is accepted."""
    known = word.text if word.is_literal else word.start
    return ("=" in known or word.is_literal) and _SAFE_SETTING.fullmatch(known) is not None


def _subcommand_doubt(name: str, words: Sequence[Word]) -> str:
    if any(
        word.text.startswith("ext::") or (not word.is_literal and word.start == "" and "::" in word.text)
        for word in words
    ):
        return "git gets a transport that runs a command"
    if name == "config":
        return _config_doubt(words)
    if name in _SAFE:
        return ""
    risky = _RISKY.get(name)
    if risky is None:
        return f"'git {name}' may be an alias or run commands"
    for word in words:
        if risky.fullmatch(word.text) if word.is_literal else word.may_be_option:
            return f"'git {name}' may run a command that its arguments name"
    return ""


def _config_doubt(words: Sequence[Word]) -> str:
    if any(word.is_literal and _READING.fullmatch(word.text) for word in words):
        return ""
    if words and words[0].is_literal and words[0].text in ("list", "get", "unset", "remove-section"):
        return ""
    names = [word for word in words if not (word.is_literal and word.text.startswith("-")) and word.text != "set"]
    if len(names) < 2 and all(word.is_literal or word.is_single for word in words):
        return ""
    if names[0].is_literal and _SAFE_SETTING.fullmatch(f"{names[0].text}={names[1].text if len(names) > 1 else ''}"):
        return ""
    return "'git config' sets what may be a command"

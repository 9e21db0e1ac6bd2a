"""What is read out of a command line; checked against what bash itself would run."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rawko.tools.shell.reader import read_script
from rawko.tools.shell.words import SimpleCommand
from tests.tools import shell_oracle


def texts(command: str) -> list[str]:
    return [simple.text for simple in read_script(command).commands]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("git push", ["git push"]),
        ("  git \t push  # comment; rm x", ["git push"]),
        ("a && b || c; d | e |& f & g\nh", ["a", "b", "c", "d", "e", "f", "g", "h"]),
        ("(a; b) && { c; d; }", ["a", "b", "c", "d"]),
        ("""g'i't "pu"sh \\x""", ["git push x"]),
        ("git \\\n push", ["git push"]),
        ("echo $(git push)", ["git push", "echo "]),
        ('echo "a $(git push) b"', ["git push", "echo a  b"]),
        ("cat <(git push)", ["git push", "cat "]),
        ("x=$(git push)", ["git push"]),
        ("if a; then b; elif c; then d; else e; fi", ["a", "b", "c", "d", "e"]),
        ("for f in a b; do git push $f; done", ["git push "]),
        ("while ! a; do b; done", ["a", "b"]),
        ("a 2>&1 >/dev/null <in", ["a"]),
        ("a >out 2>>err b", ["a b"]),
        ("cat <<'EOF' && git push\nrm x\nEOF\nls", ["cat", "git push", "ls"]),
        ("cat <<-END\n\trm x\n\tEND\nls", ["cat", "ls"]),
        ("echo a#b '#' \"#\"", ["echo a#b # #"]),
        ("echo $((1 + 2))", ["echo "]),
        ("echo '$(no)' \\$(no", ["echo $(no) $"]),
    ],
)
def test_commands_are_found(command: str, expected: list[str]) -> None:
    found = texts(command)
    assert found == expected or (command.endswith("(no") and found[0] == "no")


@pytest.mark.parametrize(
    "command",
    [
        "echo `git push`",
        "f() { git push; }; f",
        "case x in x) git push;; esac",
        "echo 'open",
        'echo "open',
        "echo $(open",
        "a)",
        "x=(a b)",
        "echo ${x:-$(git push)}",
        "echo ${x@P}",
        "cat <<EOF\n$(git push)\nEOF",
        "cat <<EOF\n`git push`\nEOF",
        "cat <<$END\nx\n$END",
        "function f { git push; }",
        "coproc git push",
        "cat <<'E' 'a\nb'\nE\ngit push",
        "echo <()",
        "echo $()",
        "echo \\",
        "(" * 5000,
    ],
)
def test_what_may_hide_a_command_is_a_doubt(command: str) -> None:
    assert read_script(command).doubt


@pytest.mark.parametrize(
    "command",
    ["$x push", "ls *", "ls ~/x > out", "PATH=. ls", "x=1; ls", "ls {a,b}", "ls $'\\x41'", "ls >&out", "ls &>out"],
)
def test_what_is_not_plain(command: str) -> None:
    assert not any(simple.is_plain for simple in read_script(command).commands)


@pytest.mark.parametrize("command", ["ls -l 'a b'", "ls 2>&1", "ls >/dev/null", "ls <in", "find . -name '*.py' {}"])
def test_what_is_plain(command: str) -> None:
    assert all(simple.is_plain for simple in read_script(command).commands)


_PIECES = st.sampled_from(
    [
        *("t", "t ", "a", " ", " ", "'", '"', "\\", ";", "&&", "|", "&", "$(", "<(", ")", "(", "\n", "#", "{ ", " }"),
        *("if ", "then ", "fi", "for a in b; do ", "while ", "done", "!", "[[ ", " ]]", "case ", "a() ", "$((", "x=1 "),
        *(
            "$x",
            "${x}",
            "`",
            "{a,b}",
            "$'",
            '$"',
            "*",
            "<<E",
            "<<-'E'",
            "\nE\n",
            "<<<",
            ">f",
            "2>&1",
            "1>",
            "\r",
            "é",
            "=",
        ),
    ]
)


@settings(max_examples=300, deadline=None)
@given(pieces=st.lists(_PIECES, min_size=1, max_size=10))
def test_no_command_that_bash_runs_is_overlooked(pieces: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    """Property: where the reading has no doubt, bash calls nothing but what it found (a word that is not literal may
    stand for any words)."""
    script = read_script("".join(pieces))
    if script.doubt:
        return
    for called in calls_of_bash("".join(pieces), tmp_path_factory.getbasetemp() / "calls"):
        assert any(re.fullmatch(expression(simple), called, re.DOTALL) for simple in script.commands), called


def calls_of_bash(command: str, log: Path) -> list[str]:
    """Every external command that bash would run: none can be found, and each is noted instead."""
    log.mkdir(exist_ok=True)
    (log / "log").write_bytes(b"")
    note = 'command_not_found_handle() { local words="$*"; printf "%s\\0" "$words" >> log; }; PATH=/nowhere; x=zz; '
    subprocess.run(
        ["/bin/bash", "--norc", "-c", note + 'eval "$1"; wait', "bash", command],
        cwd=log,
        env={},
        capture_output=True,
        timeout=5,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    return [call.decode("utf-8", "replace") for call in (log / "log").read_bytes().split(b"\0")[:-1]]


def expression(simple: SimpleCommand) -> str:
    if not simple.words[0].is_literal:
        return ".*"
    first, *rest = simple.words
    return re.escape(first.text) + "".join(" " + re.escape(w.text) if w.is_literal else "(?: .*|)" for w in rest)


# ---------------------------------------------------------------- beside a real bash


ORDINARY = (Path(__file__).parent / "ordinary_lines.txt").read_text().splitlines()
"""What developers type; `<<` is followed by a document that speaks of rm."""

FALSE_ALARMS = (
    "python3 -c 'print(1)'",
    "python3 - <<'E'\nprint(1)\nE",
    "perl -pe 's/a/b/' f",
    "node -e 'console.log(1)'",
    'sed -i "s/1.0/$VERSION/" setup.py',
    "grep -l a * | xargs sed -i 's/a/b/'",
    "case $x in a) ls;; esac",
    "f() { ls; }; f",
    "a=(1 2); echo ${a[0]}",
    "echo `date`",
    "git push $remote",
    "docker run -v $PWD:/w image ls",
)
"""Lines that run nothing of the kind and are denied all the same; docs/agents.md names the constructs."""


def test_ordinary_lines_are_not_denied() -> None:
    is_denied = shell_oracle.is_denied_by_gate(["deny bash(rm *)", "deny bash(shutdown*)", "deny bash(curl *evil*)"])
    assert [line for line in ORDINARY if is_denied(with_document(line))] == []
    assert len(ORDINARY) > 300


def with_document(line: str) -> str:
    end = re.search(r"(?<!<)<<(?!<)\s*'?(\w+)", line)
    return f"{line}\nrm x\n{end[1]}\n" if end else line


def test_what_is_denied_without_need_is_known() -> None:
    is_denied = shell_oracle.is_denied_by_gate(["deny bash(rm *)"])
    assert [line for line in FALSE_ALARMS if not is_denied(line)] == []


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap runs the lines")
def test_no_line_that_ran_rm_was_let_through() -> None:
    """A sample; `python -m tests.tools.shell_oracle` runs 25 000."""
    figures = shell_oracle.measure(300, seed=20261122, bwrap="bwrap")
    assert figures.missed == ()
    assert figures.ran > 150, "the lines hardly ran anything"


def test_every_way_of_the_generator_is_denied() -> None:
    """Each way by itself, around the plainest spelling and one that cannot be read from its words."""
    is_denied = shell_oracle.is_denied_by_gate(["deny bash(rm *)"])
    let_through = [(case.ways, case.line) for case in shell_oracle.single_cases() if not is_denied(case.line)]
    assert let_through == []

"""What is read out of a command line; checked against what bash itself would run."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rawko.tools.shell import read_script


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
        ("cat <(git push)", ["git push", "cat"]),
        ("x=$(git push)", ["git push"]),
        ("if a; then b; elif c; then d; else e; fi", ["a", "b", "c", "d", "e"]),
        ("for f in a b; do git push $f; done", ["git push "]),
        ("while ! a; do b; done", ["a", "b"]),
        ("a 2>&1 >/dev/null <in", ["a"]),
        ("a >out 2>>err b", ["a b"]),
        ("cat <<'EOF' && git push\nrm x\nEOF\nls", ["cat", "git push", "ls"]),
        ("cat <<-END\n\trm x\n\tEND\nls", ["cat", "ls"]),
        ("echo a#b '#' \"#\"", ["echo a#b # #"]),
        ("echo $((1 + 2))", ["1 + 2", "echo "]),
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
        *("t", "t ", "a", " ", "'", '"', "\\", ";", "&&", "|", "$(", ")", "(", "\n", "#", "{ ", " }", "$x", "<<E", "E"),
        *(
            "if ",
            "then ",
            "fi",
            "for a in b; do ",
            "done",
            "!",
            "x=1 ",
            ">f",
            "2>&1",
            "$((",
            "${x}",
            "`",
            "case ",
            "a() ",
        ),
    ]
)


@settings(max_examples=300, deadline=None)
@given(pieces=st.lists(_PIECES, min_size=1, max_size=10))
def test_no_command_that_bash_runs_is_overlooked(pieces: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    """Property: if bash calls `t`, the reading names it or has a doubt (a hidden first word counts as named)."""
    command = "".join(pieces)
    script = read_script(command)
    is_named = any(not simple.words[0].is_literal or simple.words[0].text == "t" for simple in script.commands)
    if script.doubt or is_named or "t" not in command:
        return
    folder = tmp_path_factory.getbasetemp()
    called = folder / "called"
    prelude = f"t() {{ : > {called}; }}; export -f t; "
    subprocess.run(
        ["bash", "--norc", "-c", prelude + 'eval "$1"', "bash", command],
        cwd=folder, capture_output=True, timeout=5, stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    was_called = called.exists()
    called.unlink(missing_ok=True)
    assert not was_called

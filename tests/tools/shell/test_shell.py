"""What is read out of a command line; checked against what bash itself would run."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rawko.tools.shell import programs
from rawko.tools.shell.editing import sed_doubt
from rawko.tools.shell.reader import read_script
from rawko.tools.shell.words import SimpleCommand
from tests.tools.shell import shell_oracle


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


@settings(max_examples=150, deadline=None)
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
        timeout=120,
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


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap runs the lines")
def test_no_line_that_ran_rm_was_let_through() -> None:
    """A sample; `python -m tests.tools.shell.shell_oracle` runs 25 000."""
    figures = shell_oracle.measure(300, seed=20261122, bwrap="bwrap")
    assert figures.missed == ()
    assert figures.ran > 150, "the lines hardly ran anything"


HOSTILE = (Path(__file__).parent / "hostile_lines.txt").read_text().splitlines()
"""Lines that try to run rm past the reading; most need a program that is not on every machine."""


@pytest.mark.parametrize("line", HOSTILE)
def test_a_hostile_line_is_denied(line: str) -> None:
    assert shell_oracle.is_denied_by_gate(["deny bash(rm *)"])(line)


INNER = ("rm x", "sh -c 'rm x'", "env rm x")


def table_lines() -> list[str]:
    """For each program of the tables lines that make it run others."""
    lines = []
    for name, prefix in programs.PREFIXES.items():
        operands = "1 " * prefix.operands
        lines += [f"{name} {operands}{inner}" for inner in INNER]
        lines += [f"{name} {option_of(valued)} 1 {operands}rm x" for valued in prefix.valued]
        lines += [f"{name} {option_of(flag)} {operands}rm x" for flag in prefix.flags if not flag.isdigit()]
        lines += [f"{name} {operands}{option_of(script)} 'r\"\"m x'" for script in prefix.scripts]
        lines += [f"{name} --no-such-option {operands}rm x", f"{name} $a {operands}x"]
    lines += [f"{name} -c 'r\"\"m x'" for name in programs.SHELLS]
    lines += [line for name in programs.SHELLS for line in (name, f"{name} -s", f"{name} /dev/stdin", f"{name} $a")]
    lines += [f"{name} a {inner}" for name in programs.ANY_SUFFIX | programs.SHELL_STARTERS for inner in INNER]
    lines += sorted(programs.SHELL_STARTERS)
    lines += [f"{name} run {inner}" for name in programs.BEHIND_A_VERB for inner in INNER if name in RUNNING]
    lines += [f"{name} x" for name in programs.ALWAYS]
    lines += [line for name in programs.INTERPRETERS for line in interpreter_lines(name)]
    lines += [f"{name} {word}" for name, words in RISKY.items() for word in words]
    lines += [f'{name} \'BEGIN{{system("r" "m")}}\'' for name in programs.AWKS]
    lines += [f"{name} '1e r''m x' f" for name in programs.SEDS]
    lines += [f"{name} /bin/rm q" for name in programs.COPIERS]
    return lines


def option_of(name: str) -> str:
    return f"-{name}" if len(name) == 1 else f"--{name}"


def interpreter_lines(name: str) -> list[str]:
    code = {"php": "-r", "Rscript": "-e", "deno": "eval", "python": "-c", "pypy": "-c", "node": "-p", "nodejs": "-p"}
    lines = [f"{name} {code.get(name, '-e')} code", f"{name} /dev/stdin", f"{name} $a"]
    return lines + ([name, f"{name} -"] if programs.INTERPRETERS[name].reads_input else [])


RUNNING = [name for name, verbs in programs.BEHIND_A_VERB.items() if verbs.fullmatch("run")]

RISKY = {
    "tar": ("--checkpoint-action=x", "-I x", "--use-compress-program=x", "--to-command=x", "cIf x", "-cFx", "$a"),
    "bsdtar": ("-I x",),
    "sort": ("--compress-program=x",),
    "split": ("--filter=x f",),
    "zip": ("-TT x", "--unzip-command=x"),
    "rsync": ("-e x a b", "-ave x a b", "--rsh=x a b", "--rsync-path=x a b"),
    "scp": ("-S x a b", "-o ProxyCommand=x a b"),
    "ssh": ("-oProxyCommand=x h",),
    "gcc": ("-wrapper x", "-B. a.c", "-specs=x", "@f"),
    "make": ("-f -", "-f- x", "--file=-", "-f /dev/stdin", "--eval=x", "SHELL=x", "CC='r\"\"m x'", "-sf -", "-f <(x)"),
    "wget": ("-e x", "--use-askpass=x"),
    "tcpdump": ("-z x",),
    "nmap": ("--script=x",),
    "nc": ("-e x", "-lc x", "--sh-exec x"),
    "apt-get": ("-o x=y", "-oDPkg::Pre-Invoke::=x"),
    "install": ("--strip-program=x a b",),
    "patch": ("-e", "--ed"),
    "rg": ("--pre x y",),
    "bat": ("--pager=x f",),
    "fzf": ("--preview=x", "--bind=x"),
    "pandoc": ("-F x", "--filter=x", "--pdf-engine=x"),
    "pdflatex": ("-shell-escape x",),
    "gpg": ("--photo-viewer x",),
    "hg": ("--config x=y",),
    "svn": ("--diff-cmd x", "--editor-cmd x"),
    "java": ("-XX:OnError=x", "@f", "-agentlib:x"),
    "man": ("-P x ls", "--pager=x ls", "-Hx ls"),
    "less": ("+!x f", "-kx f"),
    "go": ("run -exec x .", "build -toolexec x"),
    "cargo": ("--config x build",),
    "cmake": ("-DCMAKE_C_COMPILER_LAUNCHER=x .", "-E env rm x"),
    "pylint": ("--init-hook=x",),
    "sqlite3": ("db '.shell x'", "db 'select edit(1)'", "db", "-cmd x db y", "db \"select load_extension('x')\""),
    "psql": ("-c '\\! x'", "-f f -c 'copy t from program $$x$$'", ""),
    "mysql": ("-e '\\! x'", "-e 'system x'", ""),
    "cpio": ("--rsh-command=x",),
    "xdg-open": ("x",),
    "journalctl": ("--pager=x",),
    "gem": ("exec x",),
    "mount": ("-t x a b",),
    "aria2c": ("--on-download-complete=x u",),
    "yt-dlp": ("--exec x u",),
    "helm": ("--post-renderer x",),
    "restic": ("--password-command=x",),
    "gh": ("alias set x y",),
    "aws": ("configure set x y",),
    "mlr": ("put 'system(1)'",),
    "gs": ("%pipe%x",),
    "convert": ("'|x' o",),
    "rpm": ("--eval '%(x)'",),
    "ctest": ("-S f",),
    "npm": ("--script-shell=x test", "config set x y"),
    "openvpn": ("--up x",),
}


def test_every_row_of_the_tables_is_denied() -> None:
    is_denied = shell_oracle.is_denied_by_gate(["deny bash(rm *)"])
    assert [line for line in table_lines() if not is_denied(line)] == []


def test_every_row_of_risky_words_has_a_line() -> None:
    """A row is one expression; its programs share it."""
    covered = {id(programs.RISKY_WORDS[name]) for name in RISKY}
    assert [name for name, words in programs.RISKY_WORDS.items() if id(words) not in covered] == []


@pytest.mark.parametrize(
    "program",
    ["s/[[:space:]]*$//", "s/[^a-z]//g", "/^[[:blank:]]*#/d", "s/[0-9]\\+/N/", "s#a/b#c#g", "/a/,/b/{s/x/y/;p}", "$!N"],
)
def test_an_ordinary_program_of_sed_is_read(program: str) -> None:
    assert sed_doubt(program) == ""


def test_every_way_of_the_generator_is_denied() -> None:
    """Each way by itself, around the plainest spelling and one that cannot be read from its words."""
    is_denied = shell_oracle.is_denied_by_gate(["deny bash(rm *)"])
    let_through = [(case.ways, case.line) for case in shell_oracle.single_cases() if not is_denied(case.line)]
    assert let_through == []

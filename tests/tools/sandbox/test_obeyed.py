"""Each row of the table of what git and rawko obey: planted by a command in the sandbox, then obeyed outside of it.

Every attempt is made twice: without a sandbox it has to succeed, which shows that the attempt is one; in the sandbox
nothing of it may be executed or obeyed afterwards.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from rawko.runtime.ports import ToolOutcome
from rawko.tools.commands.bash import BashSettings
from rawko.tools.sandbox.obeyed import OBEYED
from rawko.tools.toolbox import build_toolbox
from rawko.vocabulary.agent import ToolAccess
from rawko.vocabulary.messages import ToolCall
from tests.cli.warm import calling
from tests.tools.sandbox.needs_sandbox import needs_sandbox

pytestmark = [needs_sandbox, pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")]


@dataclass(frozen=True)
class Attempt:
    """One way to use a row. Shell text; {mark} is a file outside of the workspace, {store} a folder there.

    Attributes:
        row: The row's name.
        before: Run by the user, before.
        plant: Run by the model's command.
        use: Run by the user, after. What was planted would make {mark}.
        is_refused: git or rawko takes it from nobody, with or without a sandbox.
        control: In the place of `use` without a sandbox: the user trusts what was planted.
        is_cold: `use` starts a new Python, which reads files while it loads its modules; else the warm rawko does.
    """

    row: str
    plant: str
    use: str
    before: str = "git init -q ."
    is_refused: bool = False
    control: str = ""
    is_cold: bool = False


RUN = "touch {mark}"
HOOK = r"printf '#!/bin/sh\ntouch {mark}\n' > %s/pre-commit && chmod +x %s/pre-commit"
MONITOR = "config core.fsmonitor 'touch {mark}; false'"
COMMIT = "git commit -q --allow-empty -m x"
THERE = "if [ -e %s ]; then touch {mark}; fi"
BARE = (
    "git init -q --bare {0}; git --git-dir {0} config core.bare false; git --git-dir {0} config core.worktree $PWD/{0}"
)
BARE_MONITOR = BARE + "; git --git-dir {0} "


DOOR = (
    r"printf 'statechart:\n  name: door\n  root state:\n    name: root\n    initial: a\n    states: [{name: a}]\n'"
    r" > door.yaml; printf 'Feature: d\n  Scenario: s\n    Then state a is active\n' > door.feature; "
    "{rawko} test door.yaml"
)
"""A chart of the user's with a contract that passes."""
CHECK = "{rawko} check door.yaml; {rawko} diagram door.yaml -o d.mmd; {rawko} runs"


def hook(folder: str) -> str:
    return HOOK.replace("%s", folder)


def bare(folder: str) -> str:
    return BARE_MONITOR.replace("{0}", folder) + MONITOR


ATTEMPTS = [
    Attempt(".git/hooks/*", hook(".git/hooks"), COMMIT),
    Attempt(".git/hooks/*", "rm -rf .git/hooks; mkdir -p h; " + hook("h") + "; ln -s ../h .git/hooks", COMMIT),
    Attempt(".git/hooks/*", hook("h"), COMMIT, "git init -q .; mkdir h; rm -r .git/hooks; ln -s ../h .git/hooks"),
    Attempt(".git/config", "git " + MONITOR, "git status"),
    Attempt(
        ".git/config",
        "cp .git/config c; git config --file c core.fsmonitor 'touch {mark}'; mv c .git/config",
        "git status",
    ),
    Attempt(".git/config", "mv .git old; mkdir .git; cp -r old/* .git; git " + MONITOR, "git status"),
    Attempt(
        ".git/config",
        "git config --file cfg core.fsmonitor 'touch {mark}; false'",
        "git status",
        "git init -q .; mv .git/config cfg; ln -s ../cfg .git/config",
    ),
    Attempt(
        ".git/config.worktree",
        r"printf '[core]\n\tfsmonitor = touch {mark}\n' > .git/config.worktree",
        "git status",
        "git init -q .; git config extensions.worktreeConfig true",
    ),
    Attempt(
        ".git/info/attributes",
        "mkdir -p .git/info; echo '* filter=x' > .git/info/attributes; echo a > f",
        "git add f",
        "git init -q .; git config filter.x.clean 'touch {mark}; cat'",
    ),
    Attempt(
        ".git/modules/*",
        hook(".git/modules/sub/hooks"),
        "git -C sub commit -q --allow-empty -m x",
        "git init -q .; git init -q {store}; git -C {store} commit -q --allow-empty -m x; "
        "git -c protocol.file.allow=always submodule --quiet add {store} sub; mkdir -p .git/modules/sub/hooks",
    ),
    Attempt(
        ".git, a file",
        "git init -q evil; git -C evil " + MONITOR + "; echo gitdir: evil/.git > .git",
        "git status",
        "git init -q --separate-git-dir {store} .",
    ),
    Attempt(
        ".git, a file",
        "git init -q evil; git -C evil " + MONITOR + "; echo gitdir: evil/.git > g; mv g .git",
        "git status",
        "git init -q --separate-git-dir {store} .",
    ),
    Attempt(
        ".git, a link",
        "git init -q evil; git -C evil " + MONITOR + "; rm .git; ln -s evil/.git .git",
        "git status",
        "git init -q {store}; ln -s {store}/.git .git",
    ),
    Attempt(
        ".git, a link",
        "git init -q evil; git -C evil " + MONITOR + "; mv .git x; mv evil/.git .git",
        "git status",
        "git init -q {store}; ln -s {store}/.git .git",
    ),
    Attempt(
        ".git, a link",  # that leads nowhere yet
        "git init -q e; mv e/.git later; git --git-dir later " + MONITOR,
        "git status",
        "ln -s later .git",
    ),
    Attempt(".git, where there is none", "git init -q .; git " + MONITOR, "git status", "true"),
    Attempt(
        ".git, where there is none", "git init -q e; git -C e " + MONITOR + "; mv e/.git .git", "git status", "true"
    ),
    Attempt(
        ".git, where there is none",
        "git init -q e; git -C e " + MONITOR + "; echo gitdir: e/.git > .git",
        "git status",
        "true",
    ),
    Attempt("sub/.git", "git init -q sub; git -C sub " + MONITOR, "git -C sub status"),
    Attempt(
        "sub/.git", "git init -q a; git -C a " + MONITOR + "; mkdir -p b/c; mv a/.git b/c/.git", "git -C b/c status"
    ),
    Attempt("sub/.git", "git init -q a; git -C a " + MONITOR + "; mkdir b; ln -s ../a/.git b/.git", "git -C b status"),
    Attempt(
        "sub/.git",
        "mv sub gone; mkdir sub; git init -q sub; git -C sub " + MONITOR,
        "git -C sub status",
        "git init -q .; git init -q sub",
    ),
    Attempt(
        "sub/.git",
        "git init -q a; git -C a " + MONITOR + "; mkdir shut; mv a/.git shut; chmod 0 shut",
        "chmod 755 shut; git -C shut status",
    ),
    Attempt(
        "sub/.git", hook("sub/.git/hooks"), "git -C sub commit -q --allow-empty -m x", "git init -q .; git init -q sub"
    ),
    Attempt(
        ".GIT",  # used here as a file system without case would
        "git init -q sub; git -C sub " + MONITOR + "; mv sub/.git sub/.GIT",
        "mv sub/.GIT sub/.git; git -C sub status",
    ),
    Attempt(
        ".GIT",
        "git init -q sub; git -C sub " + MONITOR + "; mv sub/.git sub/.g$(printf '\\342\\200\\214')it",
        "mv sub/.g$(printf '\\342\\200\\214')it sub/.git; git -C sub status",
    ),
    Attempt("HEAD, objects, refs", bare("b"), "git -C b status"),
    Attempt("HEAD, objects, refs", bare("b") + "; mv b/* .", "git config core.worktree $PWD; git status", "true"),
    Attempt(
        "HEAD, objects, refs",
        bare("b") + "; cp -r b/* there",
        "git -C there status",
        "git init -q .; mkdir there; echo code > there/code",
    ),
    Attempt(
        "HEAD, objects, refs",
        "git --git-dir b " + MONITOR,
        "git -C b status",
        "git init -q .; " + BARE.replace("{0}", "b"),
    ),
    Attempt(
        "HEAD, commondir",
        "git init -q --bare b; git --git-dir b config alias.x '!touch {mark}'; "
        "mkdir w; cp b/HEAD w; mv b/HEAD x; echo ../b > w/commondir",
        "git -C w x",
    ),
    Attempt(
        "what `gitdir:` and `commondir` lead to", hook("store/hooks"), COMMIT, "git init -q --separate-git-dir store ."
    ),
    Attempt(
        "what `gitdir:` and `commondir` lead to",
        "mv place p; mkdir place; cp -r p/store place/store; " + hook("place/store/hooks"),
        COMMIT,
        "mkdir place; git init -q --separate-git-dir place/store .",
    ),
    Attempt(
        "what `gitdir:` and `commondir` lead to",
        hook("main/.git/hooks"),
        "git -C tree commit -q --allow-empty -m x",
        "git init -q main; git -C main commit -q --allow-empty -m x; git -C main worktree add -q ../tree",
    ),
    Attempt(
        "what `core.hooksPath` leads to",
        hook("tools/hooks"),
        COMMIT,
        "git init -q .; mkdir -p tools/hooks; git config core.hooksPath tools/hooks",
    ),
    Attempt(
        "what `core.hooksPath` leads to",
        "mv tools t; mkdir -p tools/hooks; " + hook("tools/hooks"),
        COMMIT,
        "git init -q .; mkdir -p tools/hooks; git config core.hooksPath tools/hooks",
    ),
    Attempt(
        "what `core.hooksPath` leads to",
        "mkdir -p tools/hooks; " + hook("tools/hooks"),
        COMMIT,
        "git init -q .; git config core.hooksPath tools/hooks",
    ),
    Attempt(
        "what `core.hooksPath` leads to",
        "rm link; mkdir link; " + hook("link"),
        COMMIT,
        "git init -q .; mkdir real; ln -s real link; git config core.hooksPath link",
    ),
    Attempt(
        "what `core.hooksPath` leads to",
        hook("."),
        COMMIT,
        "git init -q .; git config core.hooksPath $PWD",
    ),
    Attempt(
        "what `include.path` leads to",
        r"printf '[core]\n\tfsmonitor = touch {mark}\n' > shared",
        "git status",
        "git init -q .; touch shared; git config include.path ../shared",
    ),
    Attempt(
        "what `include.path` leads to",
        r"printf '[core]\n\tfsmonitor = touch {mark}\n' > shared",
        "git status",
        "git init -q .; git config include.path ../shared",
    ),
    Attempt(
        "scripts that the configuration names",
        "echo 'touch {mark}' >> tools/clean.sh; echo a > f",
        "git add f",
        "git init -q .; mkdir tools; echo cat > tools/clean.sh; echo '* filter=x' > .gitattributes; "
        "git config filter.x.clean 'sh tools/clean.sh'",
    ),
    Attempt(
        "scripts that the configuration names",
        "mv tools t; mkdir tools; echo 'touch {mark}' > tools/clean.sh; echo a > f",
        "git add f",
        "git init -q .; mkdir tools; echo cat > tools/clean.sh; echo '* filter=x' > .gitattributes; "
        "git config filter.x.clean 'sh tools/clean.sh'",
    ),
    Attempt(
        ".gitmodules",
        r"printf '[submodule \"s\"]\n\tpath = s\n\turl = {store}\n\tupdate = !touch {mark}\n' > .gitmodules",
        "git add -A; git -c protocol.file.allow=always submodule update --init; "
        "git -c protocol.file.allow=always submodule update --init",
        "git init -q .; git init -q {store}; git -C {store} commit -q --allow-empty -m x; "
        "git -c protocol.file.allow=always submodule --quiet add {store} s; git commit -q -m s; "
        "git submodule --quiet deinit s",
        is_refused=True,
    ),
    Attempt(
        ".gitattributes",
        "echo '* filter=x diff=x merge=x' > .gitattributes; echo a > f",
        "git add f; git diff",
        is_refused=True,
    ),
    Attempt(
        ".rawko/*", "echo 'rules: [allow bash]' > .rawko/config.yaml", THERE % ".rawko/config.yaml", "mkdir .rawko"
    ),
    Attempt(
        ".rawko/*", "mv .rawko r; mkdir .rawko; touch .rawko/config.yaml", THERE % ".rawko/config.yaml", "mkdir .rawko"
    ),
    Attempt(
        ".rawko, where there is none", "mkdir -p .rawko; touch .rawko/config.yaml", THERE % ".rawko/config.yaml", "true"
    ),
    Attempt(
        ".rawko, where there is none",
        "mkdir r; touch r/config.yaml; ln -s r .rawko",
        THERE % ".rawko/config.yaml",
        "true",
    ),
    Attempt("sub/.rawko", "mkdir -p sub/.rawko; touch sub/.rawko/config.yaml", THERE % "sub/.rawko/config.yaml"),
    Attempt(
        "sub/.rawko", "mkdir -p sub r; touch r/config.yaml; ln -s ../r sub/.rawko", THERE % "sub/.rawko/config.yaml"
    ),
    Attempt(
        "what a link in .rawko leads to",
        "echo planted > config.yaml",
        "grep -q planted .rawko/config.yaml && touch {mark}",
        "mkdir .rawko; echo first > config.yaml; ln -s ../config.yaml .rawko/config.yaml",
    ),
    Attempt(
        "what a link in .rawko leads to",
        "mkdir -p cfg; echo planted > cfg/config.yaml",
        "grep -q planted .rawko/config.yaml && touch {mark}",
        "ln -s cfg .rawko",
    ),
    Attempt(
        "the state folder in the workspace",
        "for one in build/state/*; do echo x > $one/planted; done; echo x > build/state/planted",
        THERE % "build/state/planted",
        "mkdir -p build/state",
    ),
    Attempt(
        "the state folder in the workspace",
        "mv build b; mkdir -p build/state; echo x > build/state/planted",
        THERE % "build/state/planted",
        "mkdir -p build/state",
    ),
    Attempt(
        "rawko's own installation in the workspace",
        "echo x > env/lib/planted.pth",
        THERE % "env/lib/planted.pth",
        "mkdir -p env/lib",
    ),
    Attempt(
        "rawko's own installation in the workspace",
        "mv env e; mkdir -p env/lib; echo x > env/lib/planted.pth",
        THERE % "env/lib/planted.pth",
        "mkdir -p env/lib",
    ),
    Attempt(
        "pyproject.toml",
        r"printf '[tool.rawko.bindings]\ndoor = \"planted\"\n' > pyproject.toml; "
        'echo \'open("{mark}", "w")\' > planted.py',
        f"{CHECK}; {{rawko}} test door.yaml",
        DOOR,
        control="{rawko} test door.yaml --trust",
    ),
    Attempt(
        "conftest.py",
        'echo \'open("{mark}", "w")\' > conftest.py',
        f"{CHECK}; {{rawko}} test door.yaml",
        DOOR,
        control="{rawko} test door.yaml --trust",
    ),
    Attempt(
        "AGENTS.md, CLAUDE.md",
        'echo \'{{ open("{mark}", "w") }} $(touch {mark}) `touch {mark}`\' | tee AGENTS.md > CLAUDE.md',
        "{rawko} run Do --provider scripted --scenario fizzbuzz --yes --trust",
        is_refused=True,
    ),
    Attempt(
        "sitecustomize.py, usercustomize.py",
        'echo \'open("{mark}", "w")\' | tee sitecustomize.py usercustomize.py signal.py typing.py',
        "{rawko} --help",
        is_refused=True,
        is_cold=True,
    ),
    Attempt(".envrc", "echo 'touch {mark}' > .envrc", "git status; {rawko} runs", is_refused=True),
]


def test_every_row_is_tried() -> None:
    tried = {attempt.row for attempt in ATTEMPTS}
    assert tried == {row.name for row in OBEYED}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / ".gitconfig").write_text("[user]\n\tname = a\n\temail = a@example.org\n[init]\n\tdefaultBranch = main\n")
    return folder


def _first_of_each_row() -> Iterator[object]:
    """Other ways to the same file are left to `make test-all`."""
    rows: set[str] = set()
    for number, attempt in enumerate(ATTEMPTS):
        marks = [pytest.mark.thorough] if attempt.row in rows else []
        rows.add(attempt.row)
        yield pytest.param(attempt, id=f"{number}-{attempt.row}", marks=marks)


@pytest.mark.slow
@pytest.mark.parametrize("attempt", list(_first_of_each_row()))
async def test_a_planted_file_is_not_obeyed(attempt: Attempt, tmp_path: Path, home: Path) -> None:
    plain, plain_outcome = await tried(attempt, tmp_path / "plain", home, is_confined=False)
    assert plain is not attempt.is_refused, f"the attempt itself is none: {plain_outcome.content}"
    confined, outcome = await tried(attempt, tmp_path / "confined", home, is_confined=True)
    assert not confined, outcome.content
    left = tmp_path / "confined" / "workspace"
    assert not list(left.glob("*/.git/.git"))


async def tried(attempt: Attempt, folder: Path, home: Path, *, is_confined: bool) -> tuple[bool, ToolOutcome]:
    """Whether the attempt succeeded, and what its command came to."""
    root = folder / "workspace"
    root.mkdir(parents=True)
    mark, store = folder / "mark", folder / "store"
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1"}
    cold = (str(Path(sys.executable).with_name("rawko")),)
    rawko = shlex.join(cold if attempt.is_cold else calling(environ, ("GIT_CONFIG_NOSYSTEM",)))

    def text(command: str) -> str:
        for name, value in {"mark": mark, "store": store, "rawko": rawko}.items():
            command = command.replace(f"{{{name}}}", str(value))
        return command

    outside(text(attempt.before), root, environ)
    is_state_inside = "state" in attempt.row
    toolbox = build_toolbox(
        root,
        state_dir=(root / "build" if is_state_inside else folder) / "state" / "workspace-1",
        agents={"dev": ToolAccess()},
        assume_yes=True,
        is_confined=is_confined,
        bash=BashSettings(extra_env=("GIT_CONFIG_NOSYSTEM",)),
        environ=environ,
        installation=(*installation(), root / "env"),
    )
    outcome = await toolbox.run("dev", ToolCall(id="1", name="bash", input={"command": text(attempt.plant)}))
    await toolbox.aclose()
    assert not mark.exists(), "the command itself has made the mark"
    use = attempt.use if is_confined else attempt.control or attempt.use
    outside(text(use), root, environ, may_fail=True)
    return mark.exists(), outcome


def installation() -> Sequence[Path]:
    from rawko.tools.toolbox import own_installation

    return own_installation()


def outside(command: str, root: Path, environ: dict[str, str], *, may_fail: bool = False) -> None:
    done = subprocess.run(
        ["bash", "-c", command if may_fail else f"set -e; {command}"],
        cwd=root,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert may_fail or done.returncode == 0, done.stderr


def test_the_page_shows_the_table() -> None:
    page = (Path(__file__).parents[3] / "docs" / "sandbox.md").read_text(encoding="utf-8")
    rows = [
        tuple(cell.strip() for cell in line.strip("|").split(" | "))
        for line in page.splitlines()
        if re.match(r"\| .* \| (git|rawko|python) \| ", line)
    ]
    assert rows == [(row.name, row.by, row.effect, row.kept) for row in OBEYED]

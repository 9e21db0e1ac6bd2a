"""Deny rules inside the sandbox, by what is executed: a real bubblewrap, real programs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Awaitable, Callable
from itertools import count
from pathlib import Path

import pytest

from rawko.runtime.ports import ToolOutcome
from rawko.tools.commands.bash import BashSettings
from rawko.tools.gate.rules import Rule, parse_rule
from rawko.tools.sandbox.bubblewrap import PRIVATE
from rawko.tools.sandbox.stand_ins import StandInMaker
from rawko.tools.toolbox import build_toolbox
from rawko.vocabulary.agent import ToolAccess
from rawko.vocabulary.messages import ToolCall
from tests.tools.sandbox.needs_sandbox import needs_sandbox

Use = Callable[..., Awaitable[ToolOutcome]]
Make = Callable[..., Use]


@pytest.fixture
def make(root: Path, state: Path) -> Make:
    """A toolbox with rules, nobody to ask, in the sandbox."""

    def build(*rules: str, path: str = "") -> Use:
        numbers = count(1)
        tools = build_toolbox(
            root,
            state_dir=state,
            agents={"dev": ToolAccess(), "other": ToolAccess()},
            rules=rules,
            assume_yes=True,
            is_confined=True,
            bash=BashSettings(default_timeout_ms=30_000, grace_ms=300),
            environ={"PATH": path + os.environ["PATH"], "HOME": "/root"},
        )

        async def run(command: str, agent: str = "dev") -> ToolOutcome:
            return await tools.run(agent, ToolCall(id=f"c{next(numbers)}", name="bash", input={"command": command}))

        return run

    return build


RUNNING = (
    'python3 -c \'import os; os.system("r"+"m victim")\'',
    'python3 -c \'import os; os.execv("/usr/bin/rm", ["ls", "victim"])\'',
    "printf 'r%s victim' m > s; sh s",
    "printf 'all:\\n\\tr%s victim\\n' m > Makefile; make",
    "cp /bin/r? copy; chmod +x copy; ./copy victim",
    "ln -s /bin/r? q; ./q victim",
    "ln /bin/r? q; ./q victim",
    "a=r; b=m; $a$b victim",
    "find . -name victim | perl -ne 'chomp; system \"r\\155\", $_'",
    "exec 3</usr/bin/r?; cat <&3 > copy; chmod +x copy; ./copy victim",
    "unshare -Ur sh -c 'umount /usr/bin/r?; r?m victim; /usr/bin/r* victim'",
    "/lib64/ld-linux-x86-64.so.2 /usr/bin/r'm' victim",
)


@needs_sandbox
@pytest.mark.parametrize("command", RUNNING)
async def test_a_denied_program_is_not_executed_by_anything(make: Make, root: Path, command: str) -> None:
    bash = make("deny bash(rm *)")
    (root / "victim").write_text("kept")
    await bash(command)
    assert (root / "victim").read_text() == "kept"
    # The line itself does run: without the rule the file is gone (but for what needs rights that nobody has here).
    if "unshare" not in command and "ln /bin" not in command:
        for left in ("copy", "q", "s", "Makefile"):
            (root / left).unlink(missing_ok=True)
        await make()(command)
        assert not (root / "victim").exists()


@needs_sandbox
async def test_the_stand_in_tells_the_rule(make: Make, root: Path) -> None:
    bash = make("deny bash(rm *)")
    outcome = await bash("x=rm; $x victim")
    assert "rm: not run: denied by rule: deny bash(rm *)" in outcome.content and outcome.exit_code == 126
    assert (await bash("rm victim")).details["code"] == "denied", "what is read for sure is not even tried"


@pytest.mark.slow
@needs_sandbox
async def test_what_the_sandbox_holds_is_no_doubt(make: Make, root: Path) -> None:
    """Lines that cannot be read are run where execution is stopped anyway."""
    for command in ("python3 -c 'print(6*7)'", "f() { echo 42; }; f", "echo `echo 42`"):
        assert "42" in (await make("deny bash(rm *)")(command)).content
        assert (await make("deny bash(rm -rf*)")(command)).details["code"] == "denied", "arguments are not held"
        assert (await make("allow bash(rm -i*)", "deny bash(rm *)")(command)).details["code"] == "denied"


@needs_sandbox
async def test_rules_hold_for_their_agents_only(make: Make, root: Path) -> None:
    bash = make("deny bash(rm *) for dev")
    for agent in ("dev", "other"):
        (root / agent).write_text("kept")
        await bash(f"x=rm; $x {agent}", agent=agent)
    assert (root / "dev").exists() and not (root / "other").exists()


@needs_sandbox
async def test_arguments_are_compared(make: Make, root: Path) -> None:
    bash = make("deny bash(git push*)")
    script = "for a in push 'push origin'; do git $a; done; git -C . push; git --version && echo fine"
    (root / "script").write_text(script)
    outcome = await bash("sh script")
    assert outcome.content.count("not run: denied by rule: deny bash(git push*)") == 3, outcome.content
    assert "fine" in outcome.content


@needs_sandbox
async def test_a_second_name_of_a_program_still_runs(make: Make, root: Path) -> None:
    """awk is a link to mawk or gawk: only the denied name is."""
    real = Path(shutil.which("awk") or "awk").resolve().name  # noqa: ASYNC240
    (root / "script").write_text(f"awk 'BEGIN {{ print 41 }}'; {real} 'BEGIN {{ print 42 }}'\n")
    outcome = await make("deny bash(awk *)")("sh script")
    assert "42" in outcome.content and "denied by rule" in outcome.content and "41" not in outcome.content


@needs_sandbox
async def test_a_program_of_the_workspace_is_covered_too(make: Make, root: Path) -> None:
    (root / "bin").mkdir()
    (root / "bin" / "tool").write_text("#!/bin/sh\necho ran\n")
    (root / "bin" / "tool").chmod(0o755)
    outcome = await make("deny bash(tool *)", path=f"{root}/bin:")("sh -c 't*l' ; cd bin; ./t??l; bash ./t??l")
    assert "ran" not in outcome.content.replace("denied", "")
    assert (root / "bin" / "tool").read_text() == "#!/bin/sh\necho ran\n"


@needs_sandbox
async def test_the_shell_itself_stays(make: Make) -> None:
    assert "42" in (await make("deny bash(bash *)", "deny bash(sh *)")("echo 42")).content


def held(tmp_path: Path, *texts: str) -> set[str]:
    rules: list[Rule] = [parse_rule(text) for text in texts]
    maker = StandInMaker(tmp_path / "denied", path="/usr/bin:/bin", hidden=PRIVATE, root=tmp_path)
    return {str(rule) for rule in maker.for_rules(rules).held}


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (["deny bash(rm *)"], True),
        (["deny bash(rm*)"], True),
        (["deny bash(chmo*)"], True),
        (["deny bash(nothing-called-so *)"], True),
        (["deny bash(rm)"], False),
        (["deny bash(rm -rf*)"], False),
        (["deny bash(* --force*)"], False),
        (["deny bash(bash *)"], False),
        (["allow bash(ls*)", "deny bash(rm *)"], False),
        (["ask bash", "deny bash(rm *)"], False),
        (["deny bash(*a* *)"], False),
    ],
)
def test_which_rules_are_held(tmp_path: Path, rules: list[str], expected: bool) -> None:
    assert (rules[-1] in held(tmp_path, *rules)) == expected


def test_a_second_name_of_a_denied_program_is_not_held(tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "real").write_text("#!/bin/sh\n")
    (folder / "real").chmod(0o755)
    (folder / "link").symlink_to("real")
    (folder / "link-1.2").symlink_to("real")
    maker = StandInMaker(tmp_path / "denied", path=str(folder), hidden=(), root=tmp_path)
    assert maker.for_rules([parse_rule("deny bash(link *)")]).held == frozenset()
    both = [parse_rule("deny bash(link *)"), parse_rule("deny bash(real *)")]
    assert maker.for_rules(both).held == frozenset(both)

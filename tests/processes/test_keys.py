"""Keys of rawko cannot be read by what it starts: a real rawko process, and a real child that tries everything."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rawko.processes.keys import is_secret
from rawko.tools.commands.environment import check_extra, command_environment, is_public

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc")
KEYS = {
    "ANTHROPIC_API_KEY": "sk-ant-SECRET-1",
    "ANTHROPIC_AUTH_TOKEN": "SECRET-2",
    "RAWKO_JOURNAL_URL": "postgresql://u:SECRET-3@localhost/x",
    "OPENAI_API_KEY": "SECRET-4",
    "AWS_SECRET_ACCESS_KEY": "SECRET-5",
    "ODDLY_NAMED": "SECRET-6",
}
THIEF = r"""
import os, subprocess, sys
rawko = int(sys.argv[1])
found = []
def look(what, read):
    try:
        text = read()
    except OSError:
        return
    if b"SECRET-" in text:
        found.append(what)
def memory():
    text = b""
    for line in open(f"/proc/{rawko}/maps"):
        bounds, mode, *_ = line.split()
        if "rw" in mode:
            start, end = (int(one, 16) for one in bounds.split("-"))
            with open(f"/proc/{rawko}/mem", "rb", 0) as file:
                file.seek(start)
                text += file.read(min(end - start, 64_000_000))
    return text
look("own environment", lambda: repr(os.environ).encode())
look("environ", lambda: open(f"/proc/{rawko}/environ", "rb").read())
look("cmdline", lambda: open(f"/proc/{rawko}/cmdline", "rb").read())
look("mem", memory)
for task in os.listdir(f"/proc/{rawko}/task"):
    look("task environ", lambda: open(f"/proc/{rawko}/task/{task}/environ", "rb").read())
look("ps", lambda: subprocess.run(["ps", "eww", "-p", str(rawko)], capture_output=True).stdout)
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
if libc.ptrace(16, rawko, 0, 0) == 0:  # PTRACE_ATTACH
    found.append("ptrace")
    os.waitpid(rawko, 0x40000000)
    libc.ptrace(17, rawko, 0, 0)
print("FOUND", found)
"""
RAWKO = """
import os, sys
from rawko.processes.keys import environment, protect
from rawko.tools.commands.environment import is_public
if sys.argv[2] == "protected":
    protect(is_public)
import asyncio, json
from pathlib import Path
from rawko.tools.toolbox import build_toolbox
from rawko.vocabulary.agent import ToolAccess
from rawko.vocabulary.messages import ToolCall
folder = Path(sys.argv[1])
toolbox = build_toolbox(
    folder, state_dir=folder / "state", agents={"a": ToolAccess()}, assume_yes=True, environ=environment()
)
command = f"{sys.executable} thief.py {os.getpid()}"
done = asyncio.run(toolbox.run("a", ToolCall(id="1", name="bash", input={"command": command})))
print(json.dumps({"said": done.content, "ours": environment(), "seen": dict(os.environ)}))
"""


def stolen(folder: Path, how: str, *, user: int | None = None) -> dict[str, object]:
    """What a command of a rawko that holds keys can read, and what rawko itself has."""
    (folder / "thief.py").write_text(THIEF)
    as_user = [] if user is None else ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
    done = subprocess.run(
        [*as_user, sys.executable, "-c", RAWKO, str(folder), how],
        env={"PATH": os.environ["PATH"], "HOME": str(folder), **KEYS},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    assert "FOUND" in str(told["said"]), told["said"]
    return told


@pytest.mark.slow
@linux_only
def test_a_command_reads_no_key_of_ours(tmp_path: Path) -> None:
    told = stolen(tmp_path, "protected")
    assert "FOUND []" in str(told["said"])
    ours, seen = told["ours"], told["seen"]
    assert isinstance(ours, dict) and isinstance(seen, dict)
    assert KEYS.items() <= ours.items(), "rawko itself has them"
    assert set(KEYS) & set(seen) == {"AWS_SECRET_ACCESS_KEY", "ODDLY_NAMED"}, "bindings see no own key"


@pytest.mark.slow
@linux_only
def test_without_protection_it_would(tmp_path: Path) -> None:
    assert "'environ'" in str(stolen(tmp_path, "open")["said"])


ORDINARY = """
import os, subprocess, sys
sys.path.insert(0, sys.argv[1])
from rawko.processes.keys import protect
if sys.argv[3] == "protected":
    protect(lambda name: name == "PATH")
assert len(os.listdir("/proc/self/fd")) > 2, "what subprocess has to read of us"
subprocess.run([sys.executable, sys.argv[2], str(os.getpid())], env={"PATH": os.environ["PATH"]}, check=True)
"""


@linux_only
@pytest.mark.skipif(os.getuid() != 0 or shutil.which("setpriv") is None, reason="only root becomes another user")
@pytest.mark.parametrize("how", ["protected", "open"])
def test_another_process_of_an_ordinary_user_reads_no_key_either(tmp_path: Path, how: str) -> None:
    """Root reads what it likes of an environment; others are tried with the system's Python."""
    python = shutil.which("python3", path="/usr/bin:/usr/local/bin")
    (tmp_path / "thief.py").write_text(THIEF)
    for path in (tmp_path / "thief.py", tmp_path, *tmp_path.parents[:-2]):
        path.chmod(0o755)
    repository = Path(__file__).parents[2]
    command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", str(python), "-c", ORDINARY]
    done = subprocess.run(
        [*command, str(repository), str(tmp_path / "thief.py"), how],
        env={"PATH": os.environ["PATH"], **KEYS},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    if python is None or "No module named 'rawko'" in done.stderr or "SyntaxError" in done.stderr:
        pytest.skip("there is no Python that this user can run rawko with")
    assert ("FOUND []" in done.stdout) is (how == "protected"), done.stdout + done.stderr


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        *(
            (name, "", True)
            for name in ("A_TOKEN", "mytoken", "PGPASSWORD", "GH_PAT", "Api_Key", "APIKEY", "X_SECRET_Y")
        ),
        ("DATABASE_URL", "postgres://user:pass@host/db", True),
        ("DATABASE_URL", "postgres://host/db", False),
        *((name, "", False) for name in ("PATH", "PWD", "LANG", "KEYBOARD", "NPM_CONFIG_REGISTRY", "MONKEY")),
    ],
)
def test_what_is_named_like_a_secret(name: str, value: str, expected: bool) -> None:
    assert is_secret(name, value) is expected


def test_a_pattern_hands_on_no_secret() -> None:
    ours = {
        "CI_JOB": "1",
        "CI_TOKEN": "t",
        "ci_key": "k",
        "CI_URL": "https://u:p@h",
        "anthropic_api_key": "a",
        "N": "1",
    }
    assert command_environment(ours, ("CI_*", "ci_*", "anthropic_*")).keys() & ours.keys() == {"CI_JOB"}
    assert command_environment(ours, ("CI_TOKEN", "anthropic_api_key")).keys() & ours.keys() == {"CI_TOKEN"}
    assert not is_public("anthropic_api_key") and is_public("PATH")


@pytest.mark.parametrize(
    "pattern", ["*", "?*", "[A-Z]*", "*_TOKEN", "ANTHROPIC_API_KEY", "Rawko_Journal_Url", "BASH_ENV"]
)
def test_what_is_no_choice_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"is never passed to|begins with a wildcard"):
        check_extra(("CI", pattern))
    assert check_extra(("CI", "NPM_CONFIG_*", "TICKETS_TOKEN")) == ("CI", "NPM_CONFIG_*", "TICKETS_TOKEN")

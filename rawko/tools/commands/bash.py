"""The `bash` tool: one command in one process group, the folder carried over. Touches nobody knows what.

Without a sandbox a command is not confined to the workspace. Each call is a bash of its own: shell variables and
functions do not last, the folder does (per agent), reported by an EXIT trap to a private descriptor, so that `exit 3`
and `set -e` keep it.
A command that sets an EXIT trap of its own, or ends in `exec`, leaves the folder where it was.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from rawko.runtime.ports import ToolOutcome, ToolSpec
from rawko.tools.base import Arguments, CommandSubject, Run, Tool, ToolFailure, object_schema
from rawko.tools.commands.leftovers import Leftovers
from rawko.tools.commands.output_store import Output, Spool
from rawko.tools.commands.process_group import Ending, Group
from rawko.tools.sandbox import ENVIRONMENT, Sandbox
from rawko.tools.sandbox.baseline import Baseline, TooManyError
from rawko.tools.text import shown_name, size

# The command comes over a descriptor: an argument has a bound of 128 KiB and would show in `ps`. `eval` makes a syntax
# error (an open quote) an error of the command, after which the trap still runs.
# One line, so that line numbers in bash's complaints are the command's own.
# It begins when a byte comes through the gate: when its note is on disk. If rawko is killed before, the gate is closed
# by the system, and nothing has run that nobody would find.
_WRAPPER = (
    "builtin read -r -n 1 <&{gate} || builtin exit; exec {gate}<&-; "
    "trap '{{ builtin pwd -P >&{report}; }} 2>/dev/null' EXIT; "
    "IFS= builtin read -r -d '' REPLY <&{script}; exec {script}<&-; "
    'builtin eval "$REPLY"'
)


@dataclass(frozen=True, slots=True)
class BashSettings:
    """Bounds of a command.

    Attributes:
        default_timeout_ms: Where the call names none.
        max_timeout_ms: The most that a call may name.
        grace_ms: Between TERM and KILL.
        max_output_bytes: A command that writes more is stopped.
        max_spool_bytes: All kept outputs together.
        extra_env: Further variables (names or patterns) that commands may see.
    """

    default_timeout_ms: int = 120_000
    max_timeout_ms: int = 600_000
    grace_ms: int = 2_000
    max_output_bytes: int = 64_000_000
    max_spool_bytes: int = 512_000_000
    extra_env: tuple[str, ...] = ()


class Bash(Tool):
    """Runs commands.

    Args:
        root: Where the first command of each agent runs.
        outputs: Folder for whole outputs, outside of the workspace.
        leftovers: Where running commands are noted.
        env: What commands see, whole.
        sandbox: What commands run in; None: in nothing.
    """

    pattern_kind = "command"

    def __init__(
        self,
        root: Path,
        *,
        outputs: Path,
        leftovers: Leftovers,
        env: Mapping[str, str],
        settings: BashSettings,
        sandbox: Sandbox | None = None,
    ) -> None:
        self.spec = _spec(settings, is_confined=sandbox is not None)
        self._root, self._env, self._settings = root, dict(env), settings
        self._sandbox = sandbox
        if sandbox is not None:
            self._env |= ENVIRONMENT
        self._spool = Spool(outputs, max_bytes=settings.max_output_bytes, max_total_bytes=settings.max_spool_bytes)
        self._folders: dict[str, str] = {}
        self._running: set[Group] = set()
        self._leftovers = leftovers

    def subject(self, arguments: Arguments) -> CommandSubject:
        return CommandSubject(arguments["command"])

    async def run(self, run: Run) -> ToolOutcome:
        command: str = run.arguments["command"]
        if "\0" in command:
            raise ToolFailure("the command holds a NUL character, which bash cannot take")
        timeout_ms = run.arguments.get("timeout_ms", self._settings.default_timeout_ms)
        folder, notes = self._start(run.agent)
        output = self._spool.open()
        try:
            with _private_file(command) as script, _private_file("") as report:
                async with self._guarded(notes) as baseline:
                    ending, code = await self._execute(
                        folder, script.fileno(), report.fileno(), output, timeout_ms, baseline, run.mounts
                    )
                self._folders[run.agent] = after = _reported(report) or folder
        finally:
            output.close()
        if after != folder:
            notes.append(f"[folder is now {self._shown(after)}]")
        return self._outcome(output, ending, code, timeout_ms, notes)

    @asynccontextmanager
    async def _guarded(self, notes: list[str]) -> AsyncIterator[Baseline | None]:
        """The workspace before the command; afterwards what the command has made for git or rawko to obey is moved out.

        Args:
            notes: Gets what was done.
        """
        sandbox = self._sandbox
        if sandbox is None:
            yield None
            return
        try:
            told, baseline = await asyncio.to_thread(sandbox.begin)
        except TooManyError as error:
            raise ToolFailure(str(error), code="too_many_repositories") from error
        notes += told
        try:
            yield baseline
        except BaseException:
            sandbox.settle(baseline)  # a call that is cancelled cannot wait for a thread
            raise
        settling = asyncio.create_task(asyncio.to_thread(sandbox.settle, baseline))
        try:
            notes += await asyncio.shield(settling)
        finally:
            while not settling.done():
                with suppress(asyncio.CancelledError):
                    await asyncio.shield(settling)

    async def _execute(
        self,
        folder: str,
        script: int,
        report: int,
        output: Output,
        timeout_ms: int,
        baseline: Baseline | None,
        mounts: Sequence[str],
    ) -> tuple[Ending, int]:
        bash = shutil.which("bash", path=self._env.get("PATH")) or shutil.which("bash")
        if bash is None:
            raise ToolFailure("bash is not installed on this machine", code="no_bash")

        def keep(data: bytes) -> bool:
            output.write(data)
            return output.is_full

        gate, go = os.pipe()
        try:
            wrapper = _WRAPPER.format(gate=gate, script=script, report=report)
            argv = [bash, "--noprofile", "--norc", "-c", wrapper, "bash"]
            group = Group(
                argv
                if self._sandbox is None
                else self._sandbox.command(argv, folder=folder, baseline=baseline, denied=mounts),
                cwd=folder,
                env=self._env | {"PWD": folder},
                pass_fds=(gate, script, report),
                on_output=keep,
                grace_ms=self._settings.grace_ms,
            )
            self._running.add(group)
            self._leftovers.note(group.id, group.mark)
            os.write(go, b"!")
        finally:
            os.close(gate)
            os.close(go)
        try:
            return await group.finish(timeout_ms)
        finally:
            self._running.discard(group)
            self._leftovers.forget(group.id)

    def notes(self) -> dict[str, str]:
        """Where each agent's next command runs; folders of the workspace relative to it, since it may move."""
        return {agent: self._noted(folder) for agent, folder in self._folders.items() if folder != str(self._root)}

    def take_up(self, notes: Mapping[str, str]) -> None:
        self._folders = {agent: str(self._root / folder) for agent, folder in notes.items()}

    def _noted(self, folder: str) -> str:
        path = Path(folder)
        return str(path.relative_to(self._root)) if path.is_relative_to(self._root) else folder

    async def aclose(self) -> None:
        for group in self._running:
            group.kill()

    def _start(self, agent: str) -> tuple[str, list[str]]:
        folder = self._folders.get(agent, str(self._root))
        if _can_enter(folder):
            return folder, []
        return str(self._root), [f"[folder {self._shown(folder)} is gone or closed; this ran in the workspace's root]"]

    def _shown(self, folder: str) -> str:
        path = Path(folder)
        if path == self._root:
            return "the workspace's root"
        inside = path.is_relative_to(self._root)
        return (
            shown_name(str(path.relative_to(self._root))) if inside else f"{shown_name(folder)} (outside the workspace)"
        )

    def _outcome(self, output: Output, ending: Ending, code: int, timeout_ms: int, notes: list[str]) -> ToolOutcome:
        stopped = {
            "exit": "",
            "timeout": f"[stopped: it ran longer than {timeout_ms} ms (timeout_ms); its processes were ended]",
            "flood": f"[stopped: it wrote more than {size(output.max_bytes)}; send long output to a file]",
        }[ending]
        shown = output.shown().rstrip("\n") or "(no output)"
        lines = [shown, *notes, *([stopped] if stopped else []), f"[exit code {code}]"]
        return ToolOutcome(
            "\n".join(lines),
            is_error=code != 0 or ending != "exit",
            touched=None,
            exit_code=code,
            details={"ending": ending, "output_bytes": output.total, "output_file": str(output.path)},
        )


_CONFINED = (
    " It runs in a sandbox: everything can be read, only the workspace (but .git and .rawko) and /tmp can be written, "
    "what is in /tmp is gone with the command, and there is no network. A new repository (git init, git clone) in the "
    "workspace is moved out of it when the command ends; make one below /tmp."
)


def _spec(settings: BashSettings, *, is_confined: bool) -> ToolSpec:
    return ToolSpec(
        name="bash",
        description=(
            "Run a bash command in the workspace; returns its output (both streams) and exit code. Each call is a "
            "new shell: only the current folder carries over. Nothing can be typed into it, and processes left in "
            "the background are ended with it. Long output is cut in the middle."
            f"{_CONFINED if is_confined else ''}"
        ),
        input_schema=object_schema(
            {
                "command": {"type": "string", "minLength": 1, "description": "What to run."},
                "timeout_ms": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": settings.max_timeout_ms,
                    "description": f"When to stop it, in ms; {settings.default_timeout_ms} if left out.",
                },
            },
            required=("command",),
        ),
    )


def _private_file(text: str) -> IO[bytes]:
    """An unlinked file at its beginning, holding the text."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 (the caller closes it)
    # Lone surrogates cannot be encoded; bash gets a replacement and complains if it matters.
    file.write(text.encode("utf-8", errors="replace"))
    file.seek(0)
    return file


def _reported(report: IO[bytes]) -> str | None:
    """The folder that the EXIT trap wrote, if it wrote one and that is still there."""
    text = os.fsdecode(os.pread(report.fileno(), 65_536, 0)).removesuffix("\n")
    return text if text.startswith("/") and "\0" not in text and _can_enter(text) else None


def _can_enter(folder: str) -> bool:
    return os.path.isdir(folder) and os.access(folder, os.X_OK)  # noqa: PTH112 (strings are at hand)

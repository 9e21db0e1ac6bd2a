"""The surroundings of a run's checks: its workspace, and the environment and sandbox of its tools."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

from rawko.app.checks.check import Surroundings
from rawko.app.checks.gathering import Gatherer
from rawko.app.run.parts.workspace import outputs_folder, running_folder
from rawko.config import Settings
from rawko.interpreter.bindings import Bindings
from rawko.machines.evidence import check_evidence
from rawko.runtime.ports import EvidenceGatherer, Workspace, WorkspaceError
from rawko.tools.sandbox import SandboxError
from rawko.tools.toolbox import sandbox_of


def open_gatherer(settings: Settings, run: str, workspace: Workspace) -> Gatherer:
    """The gatherer of evidence for a run's workspace; it opens nothing before it is asked for evidence."""
    return Gatherer(partial(surroundings_of, settings, run, settings.workspace), workspace)


def file_checks(gatherer: EvidenceGatherer | None) -> Bindings:
    """The actor `check_files`, for charts that adopt results of lanes: `rawko.machines.evidence.check_evidence`."""
    bindings = Bindings()
    bindings.add("actor", "check_files", partial(check_evidence, gatherer, asyncio.Lock()))
    return bindings


def surroundings_of(settings: Settings, run: str, folder: Path) -> Surroundings:
    """The folder, environment and sandbox in which checks of a run are executed.

    Raises:
        WorkspaceError: The settings demand a sandbox, and this machine has none.
    """
    outputs, running = outputs_folder(settings, run), running_folder(settings, run)
    state, environ = settings.state_dir, settings.environ
    sandbox = None
    if settings.sandbox:
        try:
            sandbox = sandbox_of(folder, state_dir=state, outputs=outputs, running=running, environ=environ)
        except SandboxError as error:
            raise WorkspaceError(f"no check can be run in a sandbox: {error}") from error
    return Surroundings(
        folder=folder,
        outputs=outputs,
        running=running,
        environ=environ,
        extra_env=settings.bash.extra_env,
        sandbox=sandbox,
        variables=settings.command_env,
    )

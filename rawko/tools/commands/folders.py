"""The folder in which an agent's next command runs: `bash` keeps it from one command to the next, and notes it.

notes of a journal's row {"toolbox": {"tools": {"bash": {"developer": "docs"}}}}
folders_of(notes)                                      {"developer": "docs"}
command_folder(Path("/home/ann/project"), "docs")      /home/ann/project/docs, or the project where that is gone
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def can_enter(folder: str) -> bool:
    """Whether it is a folder, and open to us."""
    return os.path.isdir(folder) and os.access(folder, os.X_OK)  # noqa: PTH112 (strings are at hand)


def folders_of(notes: Mapping[str, Any] | None) -> Mapping[str, str] | None:
    """The noted folders by agent: relative inside the workspace, absolute outside; None where the notes do not say."""
    toolbox = None if notes is None else notes.get("toolbox")
    if not isinstance(toolbox, Mapping):
        return None
    tools = toolbox.get("tools")
    found = tools.get("bash") if isinstance(tools, Mapping) else None
    return {str(agent): str(folder) for agent, folder in found.items()} if isinstance(found, Mapping) else {}


def command_folder(workspace: Path, noted: str) -> Path:
    """Where a command will run: in the workspace itself where the noted folder is gone or closed, as `bash` does.

    Args:
        noted: "" for the workspace.
    """
    folder = workspace / noted
    return folder if can_enter(str(folder)) else workspace

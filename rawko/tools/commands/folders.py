"""The current folder of each agent's commands: `bash` keeps it from one command to the next, and stores it in the
journal.

notes of a journal's row {"toolbox": {"tools": {"bash": {"developer": "docs"}}}}
folders_of(notes)                                      {"developer": "docs"}
command_folder(Path("/home/ann/project"), "docs")      /home/ann/project/docs; the project if that no longer exists
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def can_enter(folder: str) -> bool:
    """Whether a path is a folder that this process may enter."""
    return os.path.isdir(folder) and os.access(folder, os.X_OK)  # noqa: PTH112 (strings are at hand)


def folders_of(notes: Mapping[str, Any] | None) -> Mapping[str, str] | None:
    """The recorded folders by agent: relative inside the workspace, absolute outside; None if the notes have none."""
    toolbox = None if notes is None else notes.get("toolbox")
    if not isinstance(toolbox, Mapping):
        return None
    tools = toolbox.get("tools")
    found = tools.get("bash") if isinstance(tools, Mapping) else None
    return {str(agent): str(folder) for agent, folder in found.items()} if isinstance(found, Mapping) else {}


def command_folder(workspace: Path, noted: str) -> Path:
    """The folder in which a command will run: the workspace itself if the recorded folder is gone or closed, as in
    `bash`.

    Args:
        noted: The recorded folder; "" for the workspace.
    """
    folder = workspace / noted
    return folder if can_enter(str(folder)) else workspace

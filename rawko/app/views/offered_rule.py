"""The permission rule that a person can keep when a tool call asks; see `rawko.tools.gate.offering`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rawko.tools.base import CommandSubject, Subject, ToolFailure
from rawko.tools.files.paths import Folder
from rawko.tools.gate.offering import Offer, offer
from rawko.vocabulary.messages import ADOPT

_ON_FILES = frozenset({"edit", "read", "write"})


def offered_rule(call: Mapping[str, Any], workspace: Path) -> Offer:
    """The narrowest useful rule that allows a call; without one, the reason why there is none."""
    name, given = str(call.get("name") or ""), call.get("input")
    given = given if isinstance(given, Mapping) else {}
    if name == ADOPT:
        return Offer(why_not="it is no tool: each race asks anew")
    subject: Subject = None
    if name == "bash":
        subject = CommandSubject(str(given.get("command") or ""))
    elif name in _ON_FILES:
        try:
            subject = Folder(workspace).subject(str(given.get("file_path") or ""))
        except (ToolFailure, OSError):
            return Offer(why_not="its path leads to no file of the workspace")
    return offer(name, subject)

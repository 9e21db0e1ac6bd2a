"""What a person has said yes to in this session, and how a resumed run knows it again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from rawko.runtime.ports import ApprovalScope
from rawko.vocabulary.messages import ToolCall


class Approvals:
    """The memory of a session's approvals. Deny rules stand whatever is in it."""

    def __init__(self) -> None:
        self._calls: set[str] = set()
        self._tools: set[str] = set()
        self._covers_all = False

    def remember(self, agent: str, call: ToolCall, scope: ApprovalScope) -> None:
        """Note a yes: to this very call (same agent, id and input), to its tool from now on, or to everything."""
        # Whatever else is covered, the person has seen this call and said yes to it.
        self._calls.add(_key(agent, call))
        if scope == "tool":
            self._tools.add(call.name)
        elif scope == "always":
            self._covers_all = True

    def covering(self, agent: str, call: ToolCall) -> ApprovalScope | None:
        """The narrowest approval that covers the call."""
        if _key(agent, call) in self._calls:
            return "once"
        if call.name in self._tools:
            return "tool"
        return "always" if self._covers_all else None

    def use(self, agent: str, call: ToolCall) -> None:
        """Forget the approval of this very call: it is good for one run."""
        self._calls.discard(_key(agent, call))

    def notes(self) -> dict[str, Any]:
        """All of it as JSON; calls by the fingerprint of what was shown."""
        return {"calls": sorted(self._calls), "tools": sorted(self._tools), "all": self._covers_all}

    def take_up(self, notes: Mapping[str, Any]) -> None:
        """Go on from what `notes` gave."""
        self._calls, self._tools = set(notes["calls"]), set(notes["tools"])
        self._covers_all = bool(notes["all"])


def _key(agent: str, call: ToolCall) -> str:
    text = json.dumps([agent, call.id, call.name, call.input], sort_keys=True, default=repr)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

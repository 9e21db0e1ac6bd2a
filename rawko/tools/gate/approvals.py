"""A person's approvals in this session, and their restoration in a resumed run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from rawko.runtime.ports import ApprovalScope
from rawko.vocabulary.messages import ToolCall


class Approvals:
    """The approvals of a session. Deny rules override them."""

    def __init__(self) -> None:
        self._calls: set[str] = set()
        self._tools: set[str] = set()
        self._covers_all = False

    def remember(self, agent: str, call: ToolCall, scope: ApprovalScope) -> None:
        """Record an approval: of this one call (same agent, id and input), of its tool from now on, or of all calls."""
        # The call itself is recorded in each case, because the person saw and approved it.
        self._calls.add(_key(agent, call))
        if scope == "tool":
            self._tools.add(call.name)
        elif scope == "always":
            self._covers_all = True

    def covering(self, agent: str, call: ToolCall) -> ApprovalScope | None:
        """The narrowest approval that covers the call."""
        if self._calls and _key(agent, call) in self._calls:
            return "once"
        if call.name in self._tools:
            return "tool"
        return "always" if self._covers_all else None

    def use(self, agent: str, call: ToolCall) -> None:
        """Remove the approval of this one call: it permits one execution."""
        if self._calls:
            self._calls.discard(_key(agent, call))

    def notes(self) -> dict[str, Any]:
        """All approvals as JSON; calls by the fingerprint of what the person was shown."""
        return {"calls": sorted(self._calls), "tools": sorted(self._tools), "all": self._covers_all}

    def take_up(self, notes: Mapping[str, Any]) -> None:
        """Restore what `notes` returned."""
        self._calls, self._tools = set(notes["calls"]), set(notes["tools"])
        self._covers_all = bool(notes["all"])


def _key(agent: str, call: ToolCall) -> str:
    text = json.dumps([agent, call.id, call.name, call.input], sort_keys=True, default=repr)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

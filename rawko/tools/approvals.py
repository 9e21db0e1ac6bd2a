"""What a person has said yes to in this session."""

from __future__ import annotations

import json

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


def _key(agent: str, call: ToolCall) -> str:
    return json.dumps([agent, call.id, call.name, call.input], sort_keys=True, default=repr)

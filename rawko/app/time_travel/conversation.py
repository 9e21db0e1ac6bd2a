"""What was said in a run until a step, as one list: by its agents one after the other, and to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rawko.interpreter.data.values import thaw
from rawko.runtime.replay.replay import ReplayTree


@dataclass(frozen=True, slots=True)
class Said:
    """One message.

    Attributes:
        agent: Whose conversation it is in.
        message: As it goes over the wire: {"role", "content": [blocks]}.
    """

    agent: str
    message: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        return {"agent": self.agent, **self.message}


def conversation_of(tree: ReplayTree) -> list[Said]:
    """All messages, oldest first: those that the root keeps, then what is new of the agents at work."""
    found: list[Said] = []
    for path, machine in tree.root.walk():
        context = machine.interpreter.context
        messages = context.get("messages")
        if messages is None:
            continue
        start = 0 if path == "root" else int(context.get("new_messages_from") or 0)
        agent = str(context.get("agent") or "")
        found += [_said(thaw(item), agent) for item in list(messages)[start:]]
    return found


def _said(item: Any, agent: str) -> Said:
    """The orchestrator keeps messages with whose they are; an agent keeps its own."""
    if isinstance(item, Mapping) and "message" in item:
        return Said(str(item.get("agent") or agent), item["message"])
    return Said(agent, item)


def agent_at_work(tree: ReplayTree) -> dict[str, Any] | None:
    """The context of the agent that an orchestrator has at work; None where none is, or where it runs alone."""
    for path, machine in tree.root.walk():
        if path != "root" and machine.interpreter.context.get("messages") is not None:
            context: dict[str, Any] = machine.interpreter.snapshot()["context"]
            return context
    return None


def text_of(message: Mapping[str, Any]) -> str:
    """A message as text: what was said, which tools were called, what they answered."""
    content = message.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    return "\n".join(filter(None, map(_block_text, blocks)))


def _block_text(block: Mapping[str, Any]) -> str:
    match block.get("type"):
        case "text":
            return str(block["text"])
        case "thinking":
            return f"(thinking) {block.get('thinking', '')}"
        case "tool_use":
            return f"→ {block['name']} {_inputs(block.get('input') or {})}"
        case "tool_result":
            inner = block.get("content")
            text = inner if isinstance(inner, str) else text_of({"content": inner})
            return f"← {'(error) ' if block.get('is_error') else ''}{text}"
        case kind:
            return f"({kind})"


def _inputs(given: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in given.items())

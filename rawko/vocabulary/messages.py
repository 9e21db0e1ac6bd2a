"""Conversations: messages, content blocks, tool calls and their results.

A message keeps its content in the blocks of the Messages API, because signed thinking and server blocks must be sent
back unchanged (C-35). The typed views here read those blocks and never rewrite them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import count, islice
from typing import Any, Final, Literal

from rawko.vocabulary.base import Data

Block = dict[str, Any]
"""One content block of the Messages API: {"type": "text", "text": ...}, {"type": "tool_use", ...}."""


UNSIGNED: Final = "unsigned"
"""Stored as the signature of thinking from a server that signs none. Servers of the Messages API would refuse such a
block, so requests to them omit it."""


ADOPT: Final = "adopt"
"""Name of the call by which a person adopts the files of a lane; models cannot make this call."""


class ToolCall(Data):
    """A model's request to run a tool. `input` is the JSON object that the model wrote."""

    id: str
    name: str
    input: dict[str, Any]


class ToolResult(Data):
    """The answer to one tool call, as the conversation contains it."""

    call_id: str
    content: str
    is_error: bool = False

    def block(self) -> Block:
        """The result as a `tool_result` block."""
        block: Block = {"type": "tool_result", "tool_use_id": self.call_id, "content": self.content}
        if self.is_error:
            block["is_error"] = True
        return block


class Message(Data):
    """One message of a conversation."""

    role: Literal["user", "assistant"]
    content: tuple[Block, ...]

    @property
    def text(self) -> str:
        """All text blocks, joined without a separator."""
        return "".join(block["text"] for block in self.content if block.get("type") == "text")

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tool calls of an assistant message, in order."""
        return tuple(
            ToolCall(id=block["id"], name=block["name"], input=dict(block["input"] or {}))
            for block in self.content
            if block.get("type") == "tool_use"
        )


_LEGAL_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")
_ILLEGAL: Final = re.compile(r"[^A-Za-z0-9_-]+")
_STEM_CHARS: Final = 40


def call_ids(messages: Iterable[Message]) -> set[str]:
    """Ids of all tool calls in the messages."""
    return {block["id"] for one in messages for block in one.content if block.get("type") == "tool_use"}


def with_distinct_calls(message: Message, earlier: Iterable[str]) -> Message:
    """The message with a distinct id for each tool call, so that a server accepts the conversation.

    Some servers repeat ids, in one turn or in later ones, or leave them out. The first use of an id stays unchanged.

    Args:
        earlier: Ids of the calls in the conversation that the message answers.
    """
    taken = set(earlier)
    content: list[Block] = []
    for block in message.content:
        if block.get("type") == "tool_use":
            id = _distinct(str(block.get("id") or ""), taken)
            taken.add(id)
            block = block if block.get("id") == id else {**block, "id": id}
        content.append(block)
    return message.model_copy(update={"content": tuple(content)})


def _distinct(id: str, taken: Collection[Any]) -> str:
    if _LEGAL_ID.fullmatch(id) and id not in taken:
        return id
    stem = _ILLEGAL.sub("_", id[:_STEM_CHARS]) or "call"
    numbers = (f"{stem}_{number}" for number in count(2))
    return next(one for one in (stem, *islice(numbers, len(taken) + 1)) if one not in taken)


def user_text(text: str) -> Message:
    """A user message of one text block."""
    return Message(role="user", content=({"type": "text", "text": text},))


def assistant_text(text: str) -> Message:
    """An assistant message of one text block."""
    return Message(role="assistant", content=({"type": "text", "text": text},))


def tool_results(results: Sequence[ToolResult], *, note: str = "") -> Message:
    """The one user message that answers all tool calls of a turn, results first (pairing, AL-080)."""
    blocks: list[Block] = [result.block() for result in results]
    if note:
        blocks.append({"type": "text", "text": note})
    return Message(role="user", content=tuple(blocks))


def unpaired_calls(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Ids of tool calls that the next message does not answer; empty for a conversation that may be sent."""
    for index, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        following = messages[index + 1]["content"] if index + 1 < len(messages) else ()
        answered = {block.get("tool_use_id") for block in following if block.get("type") == "tool_result"}
        for block in message["content"]:
            if block.get("type") == "tool_use" and block["id"] not in answered:
                yield block["id"]

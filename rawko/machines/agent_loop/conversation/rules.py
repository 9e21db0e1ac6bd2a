"""The conversation's rules, on wire messages: the calls of a turn, their answers, the messages that are sent. Pure.

Rule 1 (pairing, AL-080): every tool_use is answered by a tool_result in the next message, all in one message.
Rule 2: messages are only appended; messages that the wire wants joined are joined when they are sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rawko.interpreter.data.values import thaw
from rawko.vocabulary.messages import Message, ToolCall, ToolResult

WireMessage = Mapping[str, Any]


def blocks_of(message: WireMessage, kind: str) -> list[Mapping[str, Any]]:
    """The content blocks of one type, in order."""
    return [block for block in message["content"] if block.get("type") == kind]


def text_of(message: WireMessage) -> str:
    """All text blocks, joined without a separator."""
    return "".join(block["text"] for block in blocks_of(message, "text"))


def calls_of(message: WireMessage) -> list[ToolCall]:
    """The tool calls of an assistant message, in order."""
    return [
        ToolCall(id=block["id"], name=block["name"], input=thaw(block["input"] or {}))
        for block in blocks_of(message, "tool_use")
    ]


def ends_in_call(message: WireMessage) -> bool:
    """Whether the last block is a tool call; if the message was cut off, the call's input is then incomplete."""
    content = message["content"]
    return bool(content) and content[-1].get("type") == "tool_use"


def unanswered(messages: Sequence[WireMessage]) -> list[str]:
    """Ids of the last message's tool calls, if they are not answered yet. O(1) in the length of the conversation."""
    if not messages or messages[-1]["role"] != "assistant":
        return []
    return [block["id"] for block in blocks_of(messages[-1], "tool_use")]


def user_message(results: Iterable[Mapping[str, Any] | ToolResult], text: str = "") -> dict[str, Any] | None:
    """One user message: tool results first, then the text; None where there is neither."""
    content: list[dict[str, Any]] = [_result_block(result) for result in results]
    if text:
        content.append({"type": "text", "text": text})
    return {"role": "user", "content": content} if content else None


def last_words(messages: Sequence[WireMessage], start: int = 0) -> str:
    """The text of the last assistant message with text, from index `start` on; "" where there is none."""
    for index in range(len(messages) - 1, start - 1, -1):
        if messages[index]["role"] == "assistant" and (text := text_of(messages[index]).strip()):
            return text
    return ""


def as_sent(messages: Iterable[WireMessage]) -> list[Message]:
    """The conversation as a provider gets it: adjacent user messages are joined, assistant messages stay verbatim.

    Servers that follow a chat template refuse two user messages in a row, as the tool results of a turn and the user's
    next message would be.
    """
    sent: list[Message] = []
    for message in messages:
        content = tuple(thaw(block) for block in message["content"])
        if sent and message["role"] == "user" == sent[-1].role:
            content = (*sent.pop().content, *content)
        sent.append(Message(role=message["role"], content=content))
    return sent


def _result_block(result: Mapping[str, Any] | ToolResult) -> dict[str, Any]:
    found = result if isinstance(result, ToolResult) else ToolResult(**result)
    return found.block()

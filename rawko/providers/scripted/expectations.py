"""Checks a request against a reply's `expect`, and against the rules of a Messages-API server. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import is_
from typing import Any

from rawko.providers.scripted.scenario import Expect
from rawko.runtime.ports import ModelRequest
from rawko.vocabulary.messages import Message, unpaired_calls

ABRIDGED_CHARS = 300


def unmet(expect: Expect, request: ModelRequest) -> Iterator[str]:
    """Conditions of `expect` that the request does not meet, in words."""
    said = message_text(request.messages[-1])
    for text in expect.last_message:
        if text not in said:
            yield f"{text!r} in the last message"
    for text in expect.system:
        if text not in request.system:
            yield f"{text!r} in the system prompt"
    offered = [tool.name for tool in request.tools]
    for name in expect.tools:
        if name not in offered:
            yield f"tool {name!r} among those offered ({', '.join(offered) or 'none'})"
    if expect.tool_error is not None and expect.tool_error != has_tool_error(request.messages[-1]):
        yield "a failed tool result" if expect.tool_error else "no failed tool result"


class SeenConversation:
    """The conversation of the last request of one purpose; the next one is checked from the first difference on.

    Attributes:
        chars: Number of characters in all values of its blocks, as text.
    """

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._chars: list[int] = []

    @property
    def chars(self) -> int:
        return sum(self._chars)

    def take(self, messages: Sequence[Message]) -> int:
        """Remember a conversation; returns how many of its first messages are equal to those of the request before."""
        same = list(map(is_, self._messages, messages))
        kept = len(same) if all(same) else same.index(False)
        del self._messages[kept:], self._chars[kept:]
        self._messages += messages[kept:]
        self._chars += [chars_of(message.content) for message in messages[kept:]]
        return kept

    def forget(self) -> None:
        """Forget the conversation, which was refused, so that the next one is checked from its start."""
        self._messages.clear()
        self._chars.clear()


def chars_of(blocks: Sequence[Mapping[str, Any]]) -> int:
    """Number of characters in all values of blocks, as text."""
    return sum(len(str(value)) for block in blocks for value in block.values())


def unsendable(request: ModelRequest, seen: SeenConversation) -> str:
    """Why a Messages-API server would refuse the request with status 400; "" where it would not.

    Scripted runs must follow the wire's rules, so that a run that passes here also passes there (pairing, AL-080).

    Args:
        seen: The conversation that was sent before for this purpose; updated to this one.
    """
    known = seen.take(request.messages)
    if complaint := _complaint(request, max(known - 1, 0)):  # the last known message may have a different successor now
        seen.forget()
    return complaint


def _complaint(request: ModelRequest, first: int) -> str:
    messages = request.messages
    if not messages:
        return "messages: at least one message is required"
    if messages[0].role != "user":
        return "messages: first message must use the user role"
    if not any(message.content for message in messages):
        return "messages: content must not be empty"
    views = [{"role": message.role, "content": message.content} for message in messages[first:]]
    if missing := list(unpaired_calls(views)):
        return f"messages: tool_use ids without tool_result blocks in the next message: {', '.join(missing)}"
    return ""


def message_text(message: Message) -> str:
    """All text of a message including tool results, one line per block."""
    return "\n".join(text for block in message.content for text in _texts(block))


def has_tool_error(message: Message) -> bool:
    """Whether the message holds a failed tool result."""
    return any(block.get("type") == "tool_result" and block.get("is_error") for block in message.content)


def abridged(text: str) -> str:
    """The first and last characters of a long text, `ABRIDGED_CHARS` in all, with a mark between them."""
    if len(text) <= ABRIDGED_CHARS:
        return text
    half = ABRIDGED_CHARS // 2
    return f"{text[:half]} ... {text[-half:]}"


def _texts(block: Mapping[str, Any]) -> Iterator[str]:
    content = block.get("text", block.get("content", ""))
    if isinstance(content, str):
        yield content
    elif isinstance(content, Sequence):
        for part in content:
            yield from _texts(part)

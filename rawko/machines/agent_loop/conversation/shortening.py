"""Shortens a conversation that no longer fits: what is sent, sent as a pointer, or summarised (C-35). Pure.

Nothing is removed from `messages`: the whole conversation stays in the context and in the journal. A `View` says what
the model is sent: messages from `kept_from` on, the head in place of those before, and long tool results before
`pointers_before` as pointers. Both indices are indices of assistant messages, so calls and results stay paired
(AL-080).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rawko.cutting import cut_middle
from rawko.interpreter.data.values import thaw
from rawko.machines.agent_loop.context import View
from rawko.machines.agent_loop.conversation import texts
from rawko.machines.agent_loop.conversation.rules import WireMessage, text_of

NEARLY_FULL = 0.85
"""Fraction of the context window from which on the conversation is compacted before the model complains."""
POINTER_FROM_CHARS = 400
"""Characters of a tool result from which on a pointer replaces it; for shorter ones it would save nothing."""
POINTER_KEEPS_CHARS = 120
TURNS_WITH_RESULTS = 2
"""Number of last turns that keep their results when older ones become pointers."""
WORTH_IT = 0.2
"""Fraction of the conversation that pointers must save; if they save less, it is summarised at once."""
KEPT_PART = 0.25
"""Fraction of the conversation, at its end, that a summary leaves unchanged."""
ENTRY_CHARS = (4_000, 1_000, 300, 100)
"""Characters of one entry of the transcript to be summarised; the largest with which the transcript fits is used."""
CHARS_PER_TOKEN = 3
"""A low estimate, so that an estimated size in tokens is rather too large."""
TRANSCRIPT_PART = 0.5
"""Fraction of the context window that the transcript may fill."""


def sent_view(messages: Sequence[WireMessage], view: View) -> Sequence[WireMessage]:
    """The messages that the model is sent; the same sequence object where nothing is shortened."""
    if not view.head and not view.pointers_before:
        return messages
    head = [_user(view.head)] if view.head else []
    old = [shortened(message) for message in messages[view.kept_from : view.pointers_before]]
    return [*head, *old, *messages[max(view.kept_from, view.pointers_before) :]]


def shortened(message: WireMessage) -> WireMessage:
    """The message with pointers in place of its long tool results."""
    if message["role"] != "user":
        return message
    return {**message, "content": [_pointer(block) for block in message["content"]]}


def _pointer(block: Mapping[str, Any]) -> Mapping[str, Any]:
    if block.get("type") != "tool_result":
        return block
    text = _result_text(block)
    if len(text) < POINTER_FROM_CHARS:
        return block
    return {
        **block,
        "content": texts.POINTER.format(
            begin=text[:POINTER_KEEPS_CHARS], chars=len(text), id=block.get("tool_use_id", "")
        ),
    }


def pointers_until(messages: Sequence[WireMessage]) -> int:
    """The index before which tool results become pointers: the last `TURNS_WITH_RESULTS` turns keep theirs."""
    return _start_of_last_turns(messages, TURNS_WITH_RESULTS)


def is_worth_pointers(messages: Sequence[WireMessage], view: View) -> bool:
    """Whether pointers in place of old results would save more than `WORTH_IT` of the conversation."""
    until = pointers_until(messages)
    before = size_of(sent_view(messages, view))
    after = size_of(sent_view(messages, view.model_copy(update={"pointers_before": until})))
    return before - after > WORTH_IT * before


def keep_from(messages: Sequence[WireMessage], view: View, *, attempt: int) -> int:
    """Index of the first message that stays unchanged when all messages before it are summarised.

    The last turns are kept as far as they fit into `KEPT_PART` of the conversation's size; attempt 2 keeps half as
    much, attempt 3 nothing. A turn begins with the assistant's message, whose calls the next message answers.
    """
    room = size_of(sent_view(messages, view)) * KEPT_PART / (2 ** max(attempt - 1, 0)) if attempt <= 2 else 0
    kept, size = len(messages), 0
    for index in range(len(messages) - 1, view.kept_from - 1, -1):
        size += size_of([messages[index]])
        if size > room:
            break
        if messages[index]["role"] == "assistant":
            kept = index
    return kept


def transcript(
    messages: Sequence[WireMessage], view: View, *, until: int, window_tokens: int | None
) -> list[dict[str, str]]:
    """The messages to summarise, oldest first, as {"speaker", "text"}, cut so that they fit into the window."""
    told = messages[view.kept_from : until]
    room = (
        int(window_tokens * CHARS_PER_TOKEN * TRANSCRIPT_PART)
        if window_tokens
        else size_of(sent_view(messages, view)) // 2
    )
    entries: list[dict[str, str]] = []
    for limit in ENTRY_CHARS:
        entries = [entry for message in told for entry in _entries(message, limit)]
        if sum(len(entry["text"]) for entry in entries) <= room:
            return entries
    while entries and sum(len(entry["text"]) for entry in entries) > room:
        entries = entries[len(entries) // 2 + 1 :]  # the latest matter most; the task is given separately
    return entries


def first_text(messages: Sequence[WireMessage]) -> str:
    """The text of the first user message: the task as the user gave it; "" where there is none."""
    return next((text for message in messages[:1] if message["role"] == "user" and (text := text_of(message))), "")


def size_of(messages: Iterable[WireMessage]) -> int:
    """Size of the messages' content in characters of JSON."""
    return sum(len(json.dumps(thaw(message["content"]), ensure_ascii=False)) for message in messages)


def _start_of_last_turns(messages: Sequence[WireMessage], turns: int) -> int:
    left = turns
    for index in range(len(messages) - 1, -1, -1):
        if messages[index]["role"] == "assistant":
            left -= 1
            if left == 0:
                return index
    return 0


def _entries(message: WireMessage, limit: int) -> list[dict[str, str]]:
    found = [_entry(message["role"], block) for block in message["content"]]
    return [
        {"speaker": entry["speaker"], "text": cut_middle(entry["text"], limit, " ... ")}
        for entry in found
        if entry["text"]
    ]


def _entry(role: str, block: Mapping[str, Any]) -> dict[str, str]:
    match block.get("type"):
        case "text":
            return {"speaker": role, "text": str(block["text"])}
        case "tool_use":
            return {"speaker": f"call of {block['name']}", "text": json.dumps(thaw(block["input"]), ensure_ascii=False)}
        case "tool_result":
            return {"speaker": "error" if block.get("is_error") else "result", "text": _result_text(block)}
        case _:
            return {"speaker": role, "text": ""}  # thinking is signed and private; an image has no text


def _result_text(block: Mapping[str, Any]) -> str:
    content = block.get("content", "")
    return content if isinstance(content, str) else json.dumps(thaw(content), ensure_ascii=False)


def _user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}]}

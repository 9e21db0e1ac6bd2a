"""A conversation that no longer fits: what of it is sent, what becomes a pointer, what is summarised (C-35). Pure.

Nothing is taken out of `messages`: the whole conversation stays in the context and in the journal. A `View` says what
of it the model is sent: from `kept_from` on as it is, before that only the head; tool results before
`pointers_before` as pointers. Both indices stand at assistant messages, so calls and results stay paired (AL-080).
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
"""Part of the window that is used before the conversation is compacted of our own accord."""
POINTER_FROM_CHARS = 400
"""Shorter results stay: a pointer would save nothing."""
POINTER_KEEPS_CHARS = 120
TURNS_WITH_RESULTS = 2
"""So many of the last turns keep their results when older ones become pointers."""
WORTH_IT = 0.2
"""Part of the conversation that pointers must save, else it is summarised at once."""
KEPT_PART = 0.25
"""Part of the conversation that a summary leaves as it is, at its end."""
ENTRY_CHARS = (4_000, 1_000, 300, 100)
"""Of one entry of the transcript that is summarised; the longest that fits in all is taken."""
CHARS_PER_TOKEN = 3
"""Fewer than are usual, so that an estimate errs on the safe side."""
TRANSCRIPT_PART = 0.5
"""Of the window that the transcript may take."""


def sent_view(messages: Sequence[WireMessage], view: View) -> Sequence[WireMessage]:
    """The conversation as the model is sent it; the very sequence where nothing is cut."""
    if not view.head and not view.pointers_before:
        return messages
    head = [_user(view.head)] if view.head else []
    old = [shortened(message) for message in messages[view.kept_from : view.pointers_before]]
    return [*head, *old, *messages[max(view.kept_from, view.pointers_before) :]]


def shortened(message: WireMessage) -> WireMessage:
    """The message with its long tool results as pointers."""
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
    """Index before which results become pointers: the last turns keep theirs."""
    return _start_of_last_turns(messages, TURNS_WITH_RESULTS)


def is_worth_pointers(messages: Sequence[WireMessage], view: View) -> bool:
    """Whether pointers instead of old results would save enough to be a remedy."""
    until = pointers_until(messages)
    before = size_of(sent_view(messages, view))
    after = size_of(sent_view(messages, view.model_copy(update={"pointers_before": until})))
    return before - after > WORTH_IT * before


def keep_from(messages: Sequence[WireMessage], view: View, *, attempt: int) -> int:
    """Index of the first message that stays as it is when all before it is summarised.

    As many of the last turns as fit into a part of the conversation's size; a later attempt keeps less, the third
    nothing. A turn begins with the assistant's message, whose calls the next one answers.
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
    """What is to be summarised, oldest first, as {"speaker", "text"}, cut so that it surely fits into the window."""
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
        entries = entries[len(entries) // 2 + 1 :]  # the latest say most; the task is told apart
    return entries


def first_text(messages: Sequence[WireMessage]) -> str:
    """The first user message's text: the task, as it was given."""
    return next((text for message in messages[:1] if message["role"] == "user" and (text := text_of(message))), "")


def size_of(messages: Iterable[WireMessage]) -> int:
    """Characters of messages, as JSON."""
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
            return {"speaker": role, "text": ""}  # thinking is signed and private; images say nothing here


def _result_text(block: Mapping[str, Any]) -> str:
    content = block.get("content", "")
    return content if isinstance(content, str) else json.dumps(thaw(content), ensure_ascii=False)


def _user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}]}

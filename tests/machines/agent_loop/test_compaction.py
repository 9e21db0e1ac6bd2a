"""What is left of a conversation that no longer fits: always one that can be sent, and always smaller (C-35)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rawko.machines.agent_loop.context import View
from rawko.machines.agent_loop.conversation.shortening import (
    first_text,
    is_worth_pointers,
    keep_from,
    pointers_until,
    sent_view,
    shortened,
    size_of,
    transcript,
)
from rawko.vocabulary.messages import unpaired_calls

Message = dict[str, Any]


def user(text: str) -> Message:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def turn(id: str, content: str) -> list[Message]:
    """A call and its result."""
    return [
        {"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "read", "input": {"file_path": id}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": content}]},
    ]


def conversation(*sizes: int) -> list[Message]:
    return [user("The task"), *(message for n, size in enumerate(sizes) for message in turn(f"c{n}", "x" * size))]


conversations = st.lists(st.integers(0, 3000), min_size=1, max_size=8).map(lambda sizes: conversation(*sizes))


def test_an_uncut_conversation_is_sent_as_the_very_same_sequence() -> None:
    messages = conversation(10, 20)
    assert sent_view(messages, View()) is messages


def test_old_results_become_pointers_and_the_last_turns_keep_theirs() -> None:
    messages = conversation(5000, 5000, 5000, 5000)
    until = pointers_until(messages)
    sent = sent_view(messages, View(pointers_before=until))
    contents = [block["content"] for message in sent for block in message["content"] if "tool_use_id" in block]
    assert [len(content) > 1000 for content in contents] == [False, False, True, True]
    assert "5000 characters in all" in contents[0]
    assert contents[0].startswith("x" * 100)
    assert messages[2]["content"][0]["content"] == "x" * 5000, "the conversation itself is left alone"


def test_short_results_and_what_is_no_result_stay() -> None:
    message = {"role": "user", "content": [{"type": "text", "text": "y" * 900}, *turn("c", "short")[1]["content"]]}
    assert shortened(message) == message
    assistant = {"role": "assistant", "content": [{"type": "thinking", "thinking": "z" * 900, "signature": "s"}]}
    assert shortened(assistant) is assistant


@pytest.mark.parametrize(("sizes", "expected"), [((5000,) * 4, True), ((10,) * 4, False), ((10, 10, 10, 5000), False)])
def test_pointers_are_worth_it_where_they_save_enough(sizes: tuple[int, ...], expected: bool) -> None:
    assert is_worth_pointers(conversation(*sizes), View()) is expected


@given(conversations, st.integers(1, 4))
def test_whatever_is_kept_can_be_sent_and_is_smaller(messages: list[Message], attempt: int) -> None:
    kept = keep_from(messages, View(), attempt=attempt)
    sent = sent_view(messages, View(head="Task and summary", kept_from=kept, pointers_before=pointers_until(messages)))
    assert not list(unpaired_calls(sent))
    roles = [message["role"] for message in sent]
    assert roles[0] == "user"
    assert all(one != other for one, other in itertools.pairwise(roles))
    assert size_of(messages[kept:]) <= size_of(messages) / 4


@given(conversations)
def test_a_later_attempt_keeps_no_more(messages: list[Message]) -> None:
    kept = [keep_from(messages, View(), attempt=attempt) for attempt in (1, 2, 3)]
    assert kept == sorted(kept)
    assert kept[-1] == len(messages)


@given(conversations, st.none() | st.integers(1000, 20_000))
def test_the_transcript_fits_whatever_the_conversation(messages: list[Message], window: int | None) -> None:
    entries = transcript(messages, View(), until=len(messages), window_tokens=window)
    room = window * 1.5 if window else size_of(messages) / 2
    assert sum(len(entry["text"]) for entry in entries) <= room


def test_the_transcript_tells_calls_results_and_errors_apart_and_no_thinking() -> None:
    messages = [
        *conversation(5),
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "secret", "signature": "s"}]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c", "content": "boom", "is_error": True}],
        },
    ]
    told = transcript(messages, View(), until=len(messages), window_tokens=100_000)
    assert [(entry["speaker"], entry["text"]) for entry in told] == [
        ("user", "The task"),
        ("call of read", '{"file_path": "c0"}'),
        ("result", "xxxxx"),
        ("error", "boom"),
    ]


def test_only_the_first_message_tells_the_task() -> None:
    assert first_text(conversation(5)) == "The task"
    assert first_text([*turn("c0", "x")[:1], user("Later words")]) == ""
    assert first_text([]) == ""


def test_the_second_summary_begins_where_the_first_ended() -> None:
    messages = conversation(100, 100, 100)
    told = transcript(messages, View(head="before", kept_from=3), until=5, window_tokens=100_000)
    assert [entry["speaker"] for entry in told] == ["call of read", "result"]


@pytest.mark.parametrize(
    ("messages", "text"), [([user("The task")], "The task"), ([], ""), (turn("c", "x"), ""), ([{**user("a")}], "a")]
)
def test_the_task_is_the_first_thing_that_the_user_said(messages: list[Mapping[str, Any]], text: str) -> None:
    assert first_text(messages) == text

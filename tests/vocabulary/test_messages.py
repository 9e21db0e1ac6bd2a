"""Conversations that may be sent back, whatever ids a server gives."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rawko.vocabulary.messages import Message, ToolResult, call_ids, tool_results, unpaired_calls, with_distinct_calls


def calling(*ids: Any) -> Message:
    blocks = ({"type": "tool_use", "id": id, "name": "read", "input": {"at": at}} for at, id in enumerate(ids))
    return Message(role="assistant", content=({"type": "text", "text": "t"}, *blocks))


def ids_of(message: Message) -> list[str]:
    return [call.id for call in message.tool_calls]


@pytest.mark.parametrize(
    ("given_", "earlier", "expected"),
    [
        (["a", "b"], [], ["a", "b"]),
        (["a", "a", "a"], [], ["a", "a_2", "a_3"]),
        (["a", "a_2", "a"], [], ["a", "a_2", "a_3"]),
        (["call_0"], ["call_0"], ["call_0_2"]),
        (["call_0"], ["call_0", "call_0_2"], ["call_0_3"]),
        (["", "", None], [], ["call", "call_2", "call_3"]),
        (["x" * 10_000_000], [], ["x" * 40]),
        (["call:1/é\n"], [], ["call_1_"]),
        (["toolu_01A-b_C"], [], ["toolu_01A-b_C"]),
    ],
)
def test_each_call_has_an_id_of_its_own(given_: list[Any], earlier: list[Any], expected: list[str]) -> None:
    assert ids_of(with_distinct_calls(calling(*given_), earlier)) == expected


def test_a_message_that_may_be_sent_stays_verbatim() -> None:
    message = calling("a", "b")
    assert with_distinct_calls(message, ["c"]).content == message.content


@given(st.lists(st.lists(st.sampled_from(["", "a", "a_2", "b", "é", "a" * 200]), max_size=4), max_size=5))
def test_conversations_stay_paired(turns: list[list[str]]) -> None:
    conversation: list[Message] = []
    for ids in turns:
        message = with_distinct_calls(calling(*ids), call_ids(conversation))
        results = [ToolResult(call_id=call.id, content="ok") for call in message.tool_calls]
        conversation += [message, tool_results(results)]
    every = [id for message in conversation for id in ids_of(message)]
    assert len(set(every)) == len(every)
    assert all(re.fullmatch("[A-Za-z0-9_-]{1,128}", id) for id in every)
    assert not list(unpaired_calls([message.to_json() for message in conversation]))

"""The conversation as it is sent, call by call: as a whole look would give it, and what was sent before as it was."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rawko.interpreter.data.freezing import freeze
from rawko.interpreter.data.values import Vector
from rawko.machines.agent_loop.conversation.rules import as_sent
from rawko.machines.agent_loop.conversation.sent import SentConversation
from rawko.vocabulary.messages import call_ids


def said(role: str, number: int) -> Any:
    block = {"type": "tool_use", "id": f"c{number}", "name": "read", "input": {}}
    if role == "user":
        block = {"type": "text", "text": f"text {number}"}
    return freeze({"role": role, "content": [block]})


def test_what_was_sent_before_is_the_same_object_again() -> None:
    messages = Vector([said("user", 0)])
    conversation = SentConversation()
    before = conversation.take(messages)
    for number in range(1, 20, 2):
        messages = messages.appended(said("assistant", number)).appended(said("user", number + 1))
        sent = conversation.take(messages)
        assert len(sent) == len(before) + 2
        assert all(old is new for old, new in zip(before, sent, strict=False))
        before = sent


@given(st.lists(st.tuples(st.integers(0, 6), st.lists(st.sampled_from(["user", "assistant"]), max_size=4)), max_size=6))
def test_whatever_stays_and_comes_it_is_sent_as_a_whole(changes: list[tuple[int, list[str]]]) -> None:
    """A call keeps some of the first messages of the one before, and adds others."""
    conversation, number = SentConversation(), 0
    messages: list[Any] = []
    for kept, roles in changes:
        messages = messages[:kept]
        for role in roles:
            number += 1
            messages.append(said(role, number))
        sent = conversation.take(messages)
        assert list(sent) == as_sent(messages)
        assert conversation.call_ids == call_ids(sent)

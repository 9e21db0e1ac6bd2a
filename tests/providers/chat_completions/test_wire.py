"""The chat completions wire: conversations to requests, chunks to answers, as data."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import httpx2
import openai
import pytest

from rawko.providers.anthropic.request import RequestWriter as MessagesWriter
from rawko.providers.chat_completions.answer import AnswerReader
from rawko.providers.chat_completions.dialect import Dialect
from rawko.providers.chat_completions.endpoint import ChatEndpoint
from rawko.providers.chat_completions.failures import classify
from rawko.providers.chat_completions.request import RequestWriter
from rawko.providers.http.failures import CutOffAnswerError, UnreadableAnswerError
from rawko.runtime.ports import ModelRequest, StopReason, ThinkingDelta, TurnDone
from rawko.vocabulary.messages import UNSIGNED, Block, Message, assistant_text, user_text
from rawko.vocabulary.usage import Usage

CALL: Block = {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "é"}}
THOUGHT: Block = {"type": "thinking", "thinking": "Hm.", "signature": UNSIGNED}
SIGNED: Block = {"type": "thinking", "thinking": "Aha.", "signature": "c2lnbmVk"}
IMAGE: Block = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}


def ask(*messages: Message, **fields: Any) -> ModelRequest:
    return replace(ModelRequest(purpose="agent:a", model="m", system="", messages=messages), **fields)


def said(*blocks: Block) -> Message:
    return Message(role="assistant", content=blocks)


def asked(*blocks: Block) -> Message:
    return Message(role="user", content=blocks)


def sent(*messages: Message, returns_reasoning: bool = True) -> list[dict[str, Any]]:
    body = RequestWriter(returns_reasoning=returns_reasoning).write(ask(*messages), Dialect())
    found: list[dict[str, Any]] = json.loads(body)["messages"]
    return found


WIRE_CALL = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path":"é"}'}}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (said({"type": "text", "text": "Hi"}), [{"role": "assistant", "content": "Hi"}]),
        (said(SIGNED, CALL), [{"role": "assistant", "content": None, "tool_calls": [WIRE_CALL]}]),
        (
            said(THOUGHT, CALL),
            [{"role": "assistant", "content": None, "tool_calls": [WIRE_CALL], "reasoning_content": "Hm."}],
        ),
        (said(THOUGHT, {"type": "text", "text": "Hi"}), [{"role": "assistant", "content": "Hi"}]),
        (said(SIGNED), []),
        (said({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}), []),
        (
            asked({"type": "tool_result", "tool_use_id": "c1", "content": "no", "is_error": True}),
            [{"role": "tool", "tool_call_id": "c1", "content": "error: no"}],
        ),
        (
            asked({"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "x"}, IMAGE]}),
            [
                {"role": "tool", "tool_call_id": "c1", "content": "x"},
                {
                    "role": "user",
                    "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}],
                },
            ],
        ),
        (asked(), []),
    ],
)
def test_a_message_as_it_is_sent(message: Message, expected: list[dict[str, Any]]) -> None:
    assert sent(message) == expected


def test_reasoning_is_not_sent_where_the_server_would_refuse_it() -> None:
    assert "reasoning_content" not in sent(said(THOUGHT, CALL), returns_reasoning=False)[0]


def test_a_long_id_is_cut_the_same_way_in_call_and_result() -> None:
    call, result = sent(
        said({**CALL, "id": "x" * 100}), asked({"type": "tool_result", "tool_use_id": "x" * 100, "content": "ok"})
    )
    assert call["tool_calls"][0]["id"] == result["tool_call_id"]
    assert len(result["tool_call_id"]) == 40


def test_unsigned_thinking_is_not_sent_to_a_server_of_the_messages_api() -> None:
    writer = MessagesWriter(uses_cache=True)
    body = json.loads(writer.write(ask(user_text("a"), said(THOUGHT), said(THOUGHT, SIGNED, CALL), user_text("b"))))
    assert [message["content"] for message in body["messages"] if message["role"] == "assistant"] == [[SIGNED, CALL]]


def test_what_was_sent_is_not_encoded_again_and_stays_the_same() -> None:
    writer = RequestWriter(returns_reasoning=True)
    messages = [user_text("a"), assistant_text("b"), user_text("c")]
    first = writer.write(ask(*messages, system="S"), Dialect())
    more = [*messages, assistant_text("d"), user_text("e")]
    second = writer.write(ask(*more, system="S"), Dialect())
    assert second == RequestWriter(returns_reasoning=True).write(ask(*more, system="S"), Dialect())
    assert second.startswith(
        first[: first.index(b']},"max') if b']},"max' in first else first.index(b'],"max_tokens"')]
    )
    kept = writer._sent["agent:a"].parts[0]
    writer.write(ask(*more, user_text("f"), system="S"), Dialect())
    assert writer._sent["agent:a"].parts[0] is kept


def test_another_conversation_of_the_same_purpose_is_encoded_anew() -> None:
    writer = RequestWriter(returns_reasoning=True)
    writer.write(ask(user_text("a"), assistant_text("b")), Dialect())
    assert json.loads(writer.write(ask(user_text("z")), Dialect()))["messages"] == [{"role": "user", "content": "z"}]


def test_half_characters_can_be_sent() -> None:
    assert sent(user_text("a\ud800")) == [{"role": "user", "content": "a\ufffd"}]


# ---------------------------------------------------------------- answers


def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}


def call(arguments: Any, **known: Any) -> dict[str, Any]:
    name = known.pop("name", None)
    function = {"arguments": arguments, **({"name": name} if name else {})}
    return chunk({"tool_calls": [{**known, "function": function}]})


def read(*chunks: dict[str, Any]) -> TurnDone:
    reader = AnswerReader("m")
    for one in chunks:
        reader.read(one)
    return reader.done()


END = chunk({}, "stop")


@pytest.mark.parametrize(
    ("chunks", "inputs"),
    [
        pytest.param(
            [call('{"a"', index=0, id="x", name="t"), call(":1}", index=0), call("{}", index=1, id="y", name="t")],
            [{"a": 1}, {}],
            id="by index",
        ),
        pytest.param(
            [call('{"a":1}', index=0, id="x", name="t"), call('{"b":2}', index=0, id="y", name="t")],
            [{"a": 1}, {"b": 2}],
            id="the same index, another id",
        ),
        pytest.param(
            [call('{"a"', id="x", name="t"), call(":1}"), call('{"b":2}', id="y", name="t")],
            [{"a": 1}, {"b": 2}],
            id="no index",
        ),
        pytest.param([call({"a": 1}, index=0, id="x", name="t")], [{"a": 1}], id="an object, not a text"),
        pytest.param([call("", index=0, id="x", name="t")], [{}], id="nothing"),
        pytest.param([call("null", index=0, id="x", name="t")], [{}], id="null"),
        pytest.param([call(None, index=0, name="t")], [{}], id="no id"),
    ],
)
def test_tool_calls_of_servers_that_differ(chunks: list[dict[str, Any]], inputs: list[dict[str, Any]]) -> None:
    done = read(*chunks, END)
    assert [one.input for one in done.message.tool_calls] == inputs
    assert done.stop_reason == "tool_use", "some servers say stop"


@pytest.mark.parametrize(
    ("finish", "expected"),
    [
        ("stop", "end_turn"),
        ("tool_calls", "end_turn"),
        ("length", "max_tokens"),
        ("content_filter", "refusal"),
    ],
)
def test_stop_reasons(finish: str, expected: StopReason) -> None:
    assert read(chunk({"content": "a"}), chunk({}, finish)).stop_reason == expected


def test_a_refusal_is_told_as_text() -> None:
    done = read(chunk({"refusal": "I can't."}), END)
    assert (done.stop_reason, done.message.text) == ("refusal", "I can't.")


def test_a_call_that_the_limit_cut_off_is_a_note() -> None:
    done = read(call('{"a": "b', index=0, id="x", name="write"), chunk({}, "length"))
    assert done.message.content == ({"type": "text", "text": "[the call of tool 'write' was cut off: max_tokens]"},)


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_reasoning_is_thinking_without_a_signature(name: str) -> None:
    reader = AnswerReader("m")
    assert reader.read(chunk({name: "Hm."})) == ThinkingDelta("Hm.")
    reader.read(chunk({"content": "Yes."}, "stop"))
    assert reader.done().message.content[0] == THOUGHT


@pytest.mark.parametrize(
    ("chunks", "kind"),
    [
        ([chunk({"content": "a"})], CutOffAnswerError),
        ([chunk({"content": "a"}, "abort")], CutOffAnswerError),
        ([chunk({"content": "a"}, "surprise")], UnreadableAnswerError),
        ([], UnreadableAnswerError),
        ([{"hello": 1}], UnreadableAnswerError),
        ([chunk({"content": 5}, "stop")], UnreadableAnswerError),
        ([{"choices": 5}], UnreadableAnswerError),
        ([chunk({"tool_calls": [5]})], UnreadableAnswerError),
        ([call("{", index=0, id="x", name="t"), END], UnreadableAnswerError),
        ([call("[1]", index=0, id="x", name="t"), END], UnreadableAnswerError),
        ([call("[" * 100_000, index=0, id="x", name="t"), END], UnreadableAnswerError),
        ([call("{}", index=0, id="x"), END], UnreadableAnswerError),
        ([chunk({}, "stop", usage={"prompt_tokens": "many"})], UnreadableAnswerError),
    ],
)
def test_answers_that_cannot_be_read(chunks: list[dict[str, Any]], kind: type[Exception]) -> None:
    with pytest.raises(kind):
        read(*chunks)


def test_cached_tokens_stand_beside_the_others() -> None:
    told = {"prompt_tokens": 100, "completion_tokens": 5, "prompt_cache_hit_tokens": 60}
    usage = read(chunk({"content": "a"}, "stop"), {"choices": [], "usage": told}).usage
    assert usage == Usage(input_tokens=40, output_tokens=5, cache_read_tokens=60, calls=1)


# ---------------------------------------------------------------- failures

REQUEST = httpx2.Request("POST", "http://model.test/v1/chat/completions")


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (429, {"error": {"message": "quota", "type": "insufficient_quota", "code": "insufficient_quota"}}, "billing"),
        (400, {"error": {"message": "long", "code": "context_length_exceeded"}}, "context_window"),
        (400, {"object": "error", "message": "This model's maximum context length is 8 tokens"}, "context_window"),
        (400, {"error": {"message": "exceeds", "type": "exceed_context_size_error", "code": 400}}, "context_window"),
        (404, {"error": {"message": "model 'x' not found", "type": "api_error"}}, "not_found"),
        (422, {"detail": [{"msg": "Field required"}]}, "invalid_request"),
        (503, {"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}}, "overloaded"),
        (500, "<html>oops</html>", "server_error"),
    ],
)
def test_error_answers(status: int, body: Any, code: str) -> None:
    response = httpx2.Response(status, request=REQUEST)
    inner = body.get("error", body) if isinstance(body, dict) else body
    found = classify(openai.APIStatusError("words", response=response, body=inner), usage=Usage())
    assert found is not None
    assert (found.code, found.status) == (code, status)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"message": "busy", "code": 503}, "overloaded"),
        ({"message": "busy", "type": "server_error", "code": "overloaded"}, "overloaded"),
        ({"message": "too fast", "code": "rate_limit_exceeded"}, "rate_limited"),
        ({"message": "?"}, "server_error"),
    ],
)
def test_errors_in_the_middle_of_a_stream(body: dict[str, Any], code: str) -> None:
    found = classify(openai.APIError("words", REQUEST, body=body), usage=Usage(calls=1))
    assert found is not None
    assert (found.code, found.message, found.usage.calls) == (code, body["message"], 1)


def test_a_defect_of_ours_is_no_failure_of_a_call() -> None:
    assert classify(KeyError("bug"), usage=Usage()) is None


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("http://localhost:11434", "http://localhost:11434/v1"),
        ("http://localhost:11434/", "http://localhost:11434/v1"),
        ("http://localhost:8000/v1/", "http://localhost:8000/v1"),
        ("https://api.groq.com/openai/v1", "https://api.groq.com/openai/v1"),
    ],
)
def test_an_address_without_a_path_gets_the_usual_one(given: str, used: str) -> None:
    assert ChatEndpoint(base_url=given).base_url == used


def test_openais_own_server_needs_a_key() -> None:
    with pytest.raises(ValueError, match="OPENAI_API_KEY"):
        ChatEndpoint()

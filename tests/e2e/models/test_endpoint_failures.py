"""Every way in which a model's server fails, through the command line and the real SDK over HTTP."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from llmock.scenarios import Reply
from llmock.scenarios import ToolCall as MockCall

from tests.cli.shell import Ended, Shell

Typed = Callable[..., Ended]
Break = Callable[[Any], Any]
ALONE = ("run", "Say that it is done", "--agent", "developer", "--yes", "--json")
DONE = Reply(tool_calls=(MockCall("complete", {"summary": "It is done."}),))


@pytest.fixture
def env(llmock: Any) -> dict[str, str]:
    llmock.tool_mode("off")
    return {"ANTHROPIC_BASE_URL": llmock.base_url("anthropic"), "ANTHROPIC_API_KEY": "k"}


NOT_STARTED: list[tuple[int, str, str]] = [
    (401, "authentication", "Check ANTHROPIC_API_KEY"),
    (402, "billing", "Check the account's balance"),
    (403, "permission", "The key may not use this model"),
    (404, "not_found", "Check the model's name (--model"),
]


@pytest.mark.parametrize(("status", "code", "remedy"), NOT_STARTED)
@pytest.mark.parametrize("alone", [True, False], ids=["alone", "orchestrated"])
def test_settings_that_the_server_refuses_are_bad_input(
    typed: Typed, llmock: Any, env: dict[str, str], status: int, code: str, remedy: str, alone: bool
) -> None:
    llmock.fail(status)
    done = typed(*(ALONE if alone else ("run", "Say it", "--yes", "--json")), env=env)
    assert done.code == 2
    assert "Not started" in done.err
    assert remedy in done.err
    assert done.report["error"]["code"] == code
    assert f"HTTP {status}" in done.report["error"]["message"]
    assert len(llmock.requests) == 1, "it is not tried again"


PASSING: list[tuple[str, Break, str]] = [
    ("429", lambda m: m.rate_limit(retry_after=0.1), "rate_limited"),
    ("529", lambda m: m.fail(529, retry_after=0.1), "overloaded"),
    ("500", lambda m: m.fail(500), "server_error"),
    ("dropped", lambda m: m.reply("one two three four").disconnect(after_chunks=3), "network_error"),
    ("cut off", lambda m: m.reply("one two three four").truncate(after_chunks=3), "network_error"),
    ("corrupt", lambda m: m.reply("one two three four").corrupt(after_chunks=3), "malformed"),
    ("silent", lambda m: m.reply("one two three four").stall(after_chunks=3, seconds=1.5), "timeout"),
    ("late", lambda m: m.delay(1.5).reply("one two"), "timeout"),
]


@pytest.mark.parametrize(("fault", "code"), [row[1:] for row in PASSING], ids=[row[0] for row in PASSING])
def test_a_failure_that_passes_is_waited_out(
    typed: Typed, rawko: Shell, llmock: Any, env: dict[str, str], fault: Break, code: str
) -> None:
    rawko.write(".rawko/config.yaml", "timeout_ms: 700\n")
    fault(llmock)
    llmock.add(DONE)
    done = typed(*ALONE, env=env)
    assert done.code == 0, done.text
    assert done.report["summary"] == "It is done."
    assert f"Retrying the turn after {code} (1 of " in done.err
    assert len(llmock.requests) == 2, "one try of ours is one request (C-24)"


def test_the_arbiter_waits_as_long_as_the_server_asks(typed: Typed, llmock: Any, env: dict[str, str]) -> None:
    llmock.rate_limit(retry_after=1.2)
    llmock.reply(json.dumps({"type": "COMPLETE", "summary": "There is nothing to do."}))
    done = typed("run", "Nothing", "--yes", "--json", env=env)
    assert done.code == 0
    assert done.report["duration_ms"] >= 1_200
    assert "● backing_off" in done.err
    assert "Recovering from error" in done.err


def test_an_endpoint_that_is_not_there(typed: Typed, rawko: Shell) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}"
    rawko.write(".rawko/config.yaml", f"max_consecutive_failures: 2\nbase_url: {url}\n")
    done = typed("run", "Anything", "--yes", "--json", "--trust")
    assert done.code == 1
    assert done.report["error"]["code"] == "network_error"
    assert f"the connection to {url} failed" in done.err
    assert "Max consecutive failures (2) reached" in done.err


# ---------------------------------------------------------------- what llmock does not do


def sse(event: str, **data: Any) -> bytes:
    return f"event: {event}\ndata: {json.dumps({'type': event, **data})}\n\n".encode()


def turn(*blocks: dict[str, Any]) -> bytes:
    """A whole streamed answer."""
    message: dict[str, Any] = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "content": [],
        "model": "m",
        "stop_reason": None,
    }
    pieces = [sse("message_start", message={**message, "usage": {"input_tokens": 10, "output_tokens": 1}})]
    for index, block in enumerate(blocks):
        given = json.dumps(block["input"])
        pieces += [
            sse("content_block_start", index=index, content_block={**block, "input": {}}),
            sse("content_block_delta", index=index, delta={"type": "input_json_delta", "partial_json": given}),
            sse("content_block_stop", index=index),
        ]
    pieces += [
        sse("message_delta", delta={"stop_reason": "tool_use", "stop_sequence": None}, usage={"output_tokens": 9}),
        sse("message_stop"),
    ]
    return b"".join(pieces)


OVERLOAD = sse("error", error={"type": "overloaded_error", "message": "Overloaded"})
COMPLETE = turn({"type": "tool_use", "id": "t1", "name": "complete", "input": {"summary": "It is done."}})


@contextmanager
def serving(*answers: bytes | tuple[int, bytes]) -> Iterator[str]:
    """A real server that gives one answer after the other, a stream or a status with a body; its URL."""
    left = [(200, answer) if isinstance(answer, bytes) else answer for answer in answers]

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            status, body = left.pop(0)
            self.send_response(status)
            self.send_header("content-type", "text/event-stream" if status == 200 else "application/json")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            """Nothing is logged."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_refused_key_after_work_was_done_is_a_failure(typed: Typed) -> None:
    write = turn({"type": "tool_use", "id": "t1", "name": "write", "input": {"file_path": "a.txt", "content": "a"}})
    with serving(write, (401, b'{"type": "error", "error": {"type": "authentication_error", "message": "no"}}')) as url:
        done = typed(*ALONE, env={"ANTHROPIC_BASE_URL": url})
    assert done.code == 1
    assert (done.report["outcome"], done.report["files_changed"]) == ("failure", ["a.txt"])
    assert done.report["error"]["code"] == "authentication"
    assert "Task failed" in done.err


@pytest.mark.parametrize("begun", [True, False], ids=["in the middle", "at once"])
def test_an_overload_inside_the_stream_is_waited_out(typed: Typed, begun: bool) -> None:
    overload = (COMPLETE[: COMPLETE.index(b"event: message_delta")] if begun else b"") + OVERLOAD
    with serving(overload, COMPLETE) as url:
        done = typed(*ALONE, env={"ANTHROPIC_BASE_URL": url})
    assert done.code == 0
    assert done.report["summary"] == "It is done."
    assert "Retrying the turn after overloaded (1 of " in done.err


def test_prices_make_a_cost(typed: Typed, rawko: Shell) -> None:
    """The server answers under the name "m"; the price stands under the name that was asked for."""
    rawko.write(".rawko/config.yaml", "prices: {mine: {input: 100000, output: 1000000}}\n")
    with serving(COMPLETE, COMPLETE) as url:
        priced = typed(*ALONE, "--model", "mine", env={"ANTHROPIC_BASE_URL": url})
        unknown = typed(*ALONE, "--model", "other", env={"ANTHROPIC_BASE_URL": url})
    assert priced.report["usage"]["input_tokens"] == 10
    assert priced.report["usage"]["output_tokens"] == 9
    assert priced.report["cost_usd"] == pytest.approx(10.0)
    assert unknown.report["cost_usd"] is None
    assert "cost unknown" in unknown.err


# ---------------------------------------------------------------- answers that cannot be used


def test_a_decision_that_is_no_json_is_asked_for_again(typed: Typed, llmock: Any, env: dict[str, str]) -> None:
    llmock.reply("I think the developer should go on.")
    llmock.reply('```json\n{"type": "COMPLETE", "summary": "There is nothing to do."}\n```')
    done = typed("run", "Nothing", "--yes", "--json", env=env)
    assert done.code == 0
    assert "Arbiter's answer was not accepted" in done.err
    assert done.report["usage"]["calls"] == 2
    assert "I think the developer" in json.dumps(llmock.last_request.body), "the answer is shown to it"


def test_a_model_that_never_decides_fails_the_task(
    typed: Typed, rawko: Shell, llmock: Any, env: dict[str, str]
) -> None:
    rawko.write(".rawko/config.yaml", "max_consecutive_failures: 1\n")
    llmock.reply("No.", times=3)
    done = typed("run", "Nothing", "--yes", "--json", env=env)
    assert done.code == 1
    assert "Arbiter gave no usable decision in 3 answers" in done.err
    assert done.report["error"]["category"] == "validation_error"
    assert done.report["usage"]["calls"] == 3


def test_an_agent_that_nobody_knows_is_no_choice(typed: Typed, rawko: Shell, llmock: Any, env: dict[str, str]) -> None:
    rawko.write(".rawko/config.yaml", "max_consecutive_failures: 1\n")
    llmock.reply(json.dumps({"type": "SELECT_MODE", "mode": "magician", "reason": "Magic helps."}), times=3)
    done = typed("run", "Nothing", "--yes", "--json", env=env)
    assert done.code == 1
    assert "magician" in done.err


def test_a_tool_that_there_is_not_and_an_input_that_does_not_fit(
    typed: Typed, llmock: Any, env: dict[str, str]
) -> None:
    """The model is told and repairs it; nothing is run."""
    llmock.break_tool_call("unknown_tool")
    llmock.call_tool("write", {"file_path": 3, "text": "x"})
    llmock.add(DONE)
    done = typed(*ALONE, env=env)
    assert done.code == 0, done.text
    sent = json.dumps(llmock.last_request.body["messages"])
    assert "is not available" in sent or "no tool" in sent or "nknown tool" in sent
    assert "file_path" in sent and "content" in sent
    assert done.report["files_changed"] == []

"""`--provider openai` through the command line and the real SDK over HTTP: a task done, recorded and played."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from llmock.scenarios import Reply
from llmock.scenarios import ToolCall as MockCall

from tests.cli.shell import Ended, Shell

Typed = Callable[..., Ended]
KEY = "sk-proj-0123456789abcdefghij"
WRITE = Reply(text="I write.", tool_calls=(MockCall("write", {"file_path": "hello.py", "content": 'print("hi")\n'}),))
DONE = Reply(tool_calls=(MockCall("complete", {"summary": f"Wrote it with {KEY}."}),))
WORK = ("run", "Write hello.py", "--agent", "developer", "--yes", "--json")


@pytest.fixture
def env(llmock: Any) -> dict[str, str]:
    llmock.tool_mode("off")
    return {"OPENAI_BASE_URL": llmock.base_url("openai"), "OPENAI_API_KEY": KEY, "RAWKO_PROVIDER": "openai"}


def test_a_task_is_done_recorded_and_played(typed: Typed, rawko: Shell, llmock: Any, env: dict[str, str]) -> None:
    rawko.write(".rawko/config.yaml", "timeout_ms: 5000\nprices: {gpt-test: {input: 1, output: 1}}\n")
    llmock.rate_limit(retry_after=0.1)
    llmock.add(WRITE)
    llmock.add(DONE)
    done = typed(*WORK, "--model", "gpt-test", "--record", "tape.yaml", env=env)
    assert done.code == 0, done.text
    assert (rawko.folder / "hello.py").read_text(encoding="utf-8") == 'print("hi")\n'
    assert KEY not in done.text
    assert done.report["cost_usd"] > 0
    assert len(llmock.requests) == 3, "the machine waited the rate limit out"
    tape = (rawko.folder / "tape.yaml").read_text(encoding="utf-8")
    assert "provider: openai" in tape
    assert KEY not in tape
    (rawko.folder / "hello.py").unlink()
    played = typed(*WORK, "--cassette", "tape.yaml")
    assert played.code == 0, played.text
    assert (rawko.folder / "hello.py").exists()
    assert len(llmock.requests) == 3


def test_a_refused_key_is_bad_input(typed: Typed, llmock: Any, env: dict[str, str]) -> None:
    llmock.fail(401)
    done = typed(*WORK, "--model", "gpt-test", env=env)
    assert done.code == 2
    assert "with --provider openai OPENAI_API_KEY" in done.err


def test_a_model_has_to_be_named(typed: Typed, env: dict[str, str]) -> None:
    done = typed(*WORK, env=env)
    assert done.code == 2
    assert "has no default model; name one with --model" in done.err

"""A scripted reply as events of a model call: blocks, deltas, usage, ids. Pure; `provider` chooses the reply."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rawko.providers.failures import USUAL_STATUS, provider_error
from rawko.providers.scripted.expectations import chars_of
from rawko.providers.scripted.scenario import Reply, ScriptedError
from rawko.runtime.ports import (
    ModelRequest,
    ProviderError,
    StopReason,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    TurnDone,
)
from rawko.vocabulary.messages import Block, Message
from rawko.vocabulary.usage import Usage

SIGNATURE = "scripted"
"""Signature of scripted thinking. A server refuses it, so such a conversation cannot be sent to a real model."""

_WORDS = re.compile(r"\s*\S+\s?|\s+")
_CHARS_PER_TOKEN = 4


def deltas(reply: Reply) -> Iterator[StreamEvent]:
    """The reply's thinking and text, word by word; joined they give the whole."""
    for piece in _WORDS.findall(reply.thinking):
        yield ThinkingDelta(piece)
    for piece in _WORDS.findall(reply_text(reply)):
        yield TextDelta(piece)


def reply_text(reply: Reply) -> str:
    """The text of the reply: its `text`, or its decision as one line of JSON."""
    return reply.text if reply.decision is None else json.dumps(reply.decision, ensure_ascii=False)


def turn_done(reply: Reply, request: ModelRequest, chars: int, *, model: str, call_prefix: str) -> TurnDone:
    """The reply's end: message, stop reason, usage. A tool call's id is `call_prefix` and its number from 1.

    Args:
        chars: Number of characters in the request's messages.
    """
    content = tuple(_blocks(reply, call_prefix))
    return TurnDone(
        message=Message(role="assistant", content=content),
        stop_reason=_stop_reason(reply),
        usage=_claimed_usage(reply) or _estimated_usage(request, chars, content),
        model=model,
    )


def scripted_failure(reply: Reply, error: ScriptedError) -> ProviderError:
    """The error of the reply; without a status of its own, with the code's usual one.

    Source: C-18.
    """
    return provider_error(
        error.message or f"scripted failure: {error.code}",
        error.code,
        retry_after_ms=error.retry_after,
        status=error.status if error.status is not None else USUAL_STATUS.get(error.code),
        usage=_claimed_usage(reply),
    )


def _blocks(reply: Reply, call_prefix: str) -> Iterator[Block]:
    if reply.thinking:
        yield {"type": "thinking", "thinking": reply.thinking, "signature": SIGNATURE}
    if text := reply_text(reply):
        yield {"type": "text", "text": text}
    for number, call in enumerate(reply.tool_calls, start=1):
        yield {
            "type": "tool_use",
            "id": f"{call_prefix}_{number}",
            "name": call.name,
            "input": dict(call.input),
        }


def _stop_reason(reply: Reply) -> StopReason:
    if reply.stop_reason is not None:
        return reply.stop_reason
    return "tool_use" if reply.tool_calls else "end_turn"


def _claimed_usage(reply: Reply) -> Usage | None:
    return None if reply.usage is None else Usage(**reply.usage.model_dump(), calls=1)


def _estimated_usage(request: ModelRequest, chars: int, content: Sequence[Mapping[str, Any]]) -> Usage:
    asked = len(request.system) + chars
    asked += sum(len(tool.name) + len(tool.description) + len(str(tool.input_schema)) for tool in request.tools)
    return Usage(input_tokens=_tokens(asked), output_tokens=_tokens(chars_of(content)), calls=1)


def _tokens(chars: int) -> int:
    return -(-chars // _CHARS_PER_TOKEN)

"""The APIs that a provider asks over HTTP, for tests that hold for all of them, and what these send."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from rawko.providers.anthropic_api import AnthropicProvider
from rawko.providers.chat_completions.api import OpenAIProvider
from rawko.providers.chat_completions.endpoint import ChatEndpoint
from rawko.providers.endpoint import Endpoint
from rawko.runtime.ports import ModelRequest, Provider, ProviderError, ToolSpec
from rawko.vocabulary.messages import user_text

IDLE_TIMEOUT_MS = 300
WRITE = ToolSpec(name="write", description="Write a file.", input_schema={"type": "object", "properties": {}})


@dataclass(frozen=True, slots=True)
class Api:
    """One API.

    Attributes:
        name: Of the provider; llmock serves the API under it, too.
        make: The provider that asks a server at an address, with a short bound on its silence.
    """

    name: str
    model: str
    make: Callable[[str], Provider]


def _anthropic(base_url: str) -> Provider:
    return AnthropicProvider(Endpoint(base_url=base_url, api_key="k", idle_timeout_ms=IDLE_TIMEOUT_MS))


def _openai(base_url: str) -> Provider:
    return OpenAIProvider(ChatEndpoint(base_url=base_url, api_key="k", idle_timeout_ms=IDLE_TIMEOUT_MS))


ANTHROPIC = Api("anthropic", "claude-sonnet-5", _anthropic)
OPENAI = Api("openai", "gpt-test", _openai)
APIS = (ANTHROPIC, OPENAI)


def request_to(api: Api) -> ModelRequest:
    """An agent's request with one tool."""
    return ModelRequest(
        purpose="agent:developer",
        model=api.model,
        system="You write code.",
        messages=(user_text("go"),),
        tools=(WRITE,),
        timeout_ms=10_000,
    )


async def failure(provider: Provider, request: ModelRequest) -> ProviderError:
    """The error with which a request fails, while its answer is read."""
    with pytest.raises(ProviderError) as caught:
        async for _ in provider.stream(request):
            pass
    return caught.value

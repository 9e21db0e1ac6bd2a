"""The APIs that a provider asks over HTTP, for tests that hold for all of them, and what these send."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from rawko.providers.anthropic.api import AnthropicProvider
from rawko.providers.anthropic.endpoint import Endpoint
from rawko.providers.chat_completions.api import OpenAIProvider
from rawko.providers.chat_completions.endpoint import ChatEndpoint
from rawko.runtime.ports import ModelRequest, Provider, ProviderError, ToolSpec
from rawko.vocabulary.messages import user_text

PATIENCE_MS = 60_000
"""A bound that only a defect reaches: on a loaded machine the server's thread may be silent for a second."""
SHORT_MS = 300
"""The longest silence in tests about silence; if it ends a call too early, that is the failure that they expect."""
WRITE = ToolSpec(name="write", description="Write a file.", input_schema={"type": "object", "properties": {}})


@dataclass(frozen=True, slots=True)
class Api:
    """One API.

    Attributes:
        name: Of the provider; llmock serves the API under it, too.
        open: Opens the provider that asks a server at an address, with a bound on its silence.
    """

    name: str
    model: str
    open: Callable[[str, int], Provider]

    def make(self, base_url: str, idle_timeout_ms: int = PATIENCE_MS) -> Provider:
        """The provider that asks a server at an address."""
        return self.open(base_url, idle_timeout_ms)


def _anthropic(base_url: str, idle_timeout_ms: int) -> Provider:
    return AnthropicProvider(Endpoint(base_url=base_url, api_key="k", idle_timeout_ms=idle_timeout_ms))


def _openai(base_url: str, idle_timeout_ms: int) -> Provider:
    return OpenAIProvider(ChatEndpoint(base_url=base_url, api_key="k", idle_timeout_ms=idle_timeout_ms))


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
        timeout_ms=PATIENCE_MS,
    )


async def failure(provider: Provider, request: ModelRequest) -> ProviderError:
    """The error with which a request fails, while its answer is read."""
    with pytest.raises(ProviderError) as caught:
        async for _ in provider.stream(request):
            pass
    return caught.value

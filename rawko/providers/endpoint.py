"""Where a Messages-API server is and how to sign in: settings only, no SDK."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

ANTHROPIC_URL = "https://api.anthropic.com"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A Messages-API server: Claude's, or any other by its URL (Ollama, llama.cpp, LiteLLM).

    Attributes:
        base_url: Root of the server; a `/v1` at its end is dropped, since every path of the API begins with it.
        api_key: Signs in; wins over `auth_token`. Which header carries it is the SDK's choice.
        auth_token: Signs in, as a bearer token.
        timeout_ms: Bound of a whole call whose request names none.
        idle_timeout_ms: Longest silence on the wire, before the answer and within it; pings end a silence.
        connect_timeout_ms: Bound of opening the connection.
        uses_cache: Mark the stable prefix for the server's prompt cache.

    Raises:
        ValueError: Claude's own server without a key or token.
    """

    base_url: str = ANTHROPIC_URL
    api_key: str | None = field(default=None, repr=False)
    auth_token: str | None = field(default=None, repr=False)
    timeout_ms: int = 600_000
    idle_timeout_ms: int = 300_000
    connect_timeout_ms: int = 10_000
    uses_cache: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "base_url", self.base_url.rstrip("/").removesuffix("/v1"))
        if self.base_url == ANTHROPIC_URL and not (self.api_key or self.auth_token):
            raise ValueError(
                f"{ANTHROPIC_URL} needs a key: set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN, "
                "or ANTHROPIC_BASE_URL for a server that needs none"
            )


def endpoint_from_env(environ: Mapping[str, str]) -> Endpoint | None:
    """The endpoint that the SDK's own variables name, or None where they name neither a key nor a server."""
    base_url = environ.get("ANTHROPIC_BASE_URL") or ANTHROPIC_URL
    api_key = environ.get("ANTHROPIC_API_KEY") or None
    auth_token = environ.get("ANTHROPIC_AUTH_TOKEN") or None
    if base_url == ANTHROPIC_URL and not (api_key or auth_token):
        return None
    return Endpoint(base_url=base_url, api_key=api_key, auth_token=auth_token)

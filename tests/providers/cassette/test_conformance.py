"""Providers that are recorded keep every promise of the port, and so does what plays the recording."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from anthropic import DefaultAsyncHttpxClient

from rawko.providers.anthropic.api import AnthropicProvider
from rawko.providers.anthropic.endpoint import Endpoint
from rawko.providers.cassette.cleaning import Cleaner
from rawko.providers.cassette.file import Header, read_cassette
from rawko.providers.cassette.port import PlayingProvider, RecordingProvider
from rawko.providers.cassette.recorder import Recorder
from rawko.providers.cassette.tape import Tape, numbers_of
from rawko.providers.cassette.wire import played, recorded
from rawko.runtime.ports import Provider
from rawko.testing.conformance.providers import PROVIDER_CONTRACTS, Contract, Play
from tests.providers.anthropic.test_conformance import WireHarness
from tests.providers.scripted.test_conformance import ScriptedHarness

CLEANER = Cleaner({}, {})
GIVEN_UP = {"P-11", "P-13"}
"""Promises about calls that their caller gives up: those are not recorded, so there is nothing to play."""


class RecordedWire(WireHarness):
    """A server, recorded at the SDK's middleware; one cassette per provider."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder, self.cassettes = folder, list[Path]()

    @asynccontextmanager
    async def provider(self, plays: Sequence[Play]) -> AsyncIterator[Provider]:
        self.tries, self._plays = 0, list(plays)
        self.cassettes.append(self._folder / f"{len(self.cassettes)}.yaml")
        recorder = Recorder(self.cassettes[-1], Header("anthropic", "wire", "m"), CLEANER)
        client = DefaultAsyncHttpxClient(transport=httpx2.MockTransport(self._answer))
        endpoint = Endpoint(base_url="http://model.test", api_key="k")
        inner = AnthropicProvider(endpoint, http_client=client, wrap=lambda client: recorded(client, recorder))
        provider = RecordingProvider(inner, recorder, is_wire=True)
        yield provider
        await provider.aclose()


class RecordedPort(ScriptedHarness):
    """A scenario, recorded at the port."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder, self.cassettes = folder, list[Path]()

    @asynccontextmanager
    async def provider(self, plays: Sequence[Play]) -> AsyncIterator[Provider]:
        async with super().provider(plays) as inner:
            self.cassettes.append(self._folder / f"{len(self.cassettes)}.yaml")
            recorder = Recorder(self.cassettes[-1], Header("scripted", "port", "m"), CLEANER)
            provider = RecordingProvider(inner, recorder)
            yield provider
            await provider.aclose()


class Played:
    """Plays the cassettes that were recorded while the same promise was checked, in the same order."""

    def __init__(self, cassettes: Sequence[Path]) -> None:
        self._cassettes = list(cassettes)
        self._provider: PlayingProvider | None = None

    @asynccontextmanager
    async def provider(self, plays: Sequence[Play]) -> AsyncIterator[Provider]:
        cassette = read_cassette(self._cassettes.pop(0))
        tape = Tape(cassette, CLEANER)
        endpoint = Endpoint(base_url="http://nowhere.invalid")
        is_wire = cassette.header.level == "wire"
        inner = AnthropicProvider(endpoint, wrap=lambda client: played(client, tape)) if is_wire else None
        self._provider = PlayingProvider(tape, inner)
        yield self._provider
        await self._provider.aclose()

    @property
    def tries(self) -> int:
        return 0 if self._provider is None else len(list(numbers_of(self._provider.position()["taken"])))


@pytest.mark.parametrize("contract", PROVIDER_CONTRACTS, ids=str)
@pytest.mark.parametrize("kind", [RecordedWire, RecordedPort])
async def test_contract(kind: type[RecordedWire | RecordedPort], contract: Contract, tmp_path: Path) -> None:
    harness = kind(tmp_path)
    await contract.check(harness)
    if contract.number not in GIVEN_UP:
        await contract.check(Played(harness.cassettes))

"""The recording of a run's provider is found, however the provider is wrapped."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from rawko.app.run.models.recording import recording_of
from rawko.app.run.parts.null_ports import NullProvider
from rawko.providers.cassette.cleaning import Cleaner
from rawko.providers.cassette.file import Header
from rawko.providers.cassette.port import RecordingProvider
from rawko.providers.cassette.recorder import Recorder
from rawko.providers.masked import MaskedProvider
from rawko.runtime.ports import Provider
from rawko.vocabulary.masking import Masker


@dataclass
class Limited(NullProvider):
    """A wrapper that passes no attributes on."""

    inner: Provider


@pytest.fixture
def recording(tmp_path: Path) -> RecordingProvider:
    recorder = Recorder(tmp_path / "t.yaml", Header("scripted", "port", "scripted"), Cleaner({}, {}))
    return RecordingProvider(NullProvider(), recorder)


def test_it_is_found_below_wrappers(recording: RecordingProvider) -> None:
    assert recording_of(recording) is recording
    masked = MaskedProvider(recording, Masker({"secret-of-this-test": "KEY"}))
    found = recording_of(Limited(masked))
    assert found is not None
    assert isinstance(found.beside(NullProvider()), RecordingProvider)


def test_a_provider_that_nobody_records_has_none() -> None:
    assert recording_of(NullProvider()) is None
    assert recording_of(Limited(NullProvider())) is None
    assert recording_of(MaskedProvider(NullProvider(), Masker({"secret-of-this-test": "KEY"}))) is None

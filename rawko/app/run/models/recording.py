"""Finds the recording of a run's provider, so that the answers of its lanes' providers are written into it, too."""

from __future__ import annotations

from rawko.runtime.ports import Provider, RecordingPort, WrappingPort


def recording_of(provider: Provider) -> RecordingPort | None:
    """The recording into which a provider's answers are written, also where others wrap it; None where there is none.

    Wrapped providers are asked one by one: since Python 3.12 `isinstance` does not see what `__getattr__` passes on.
    """
    if isinstance(provider, RecordingPort):
        return provider
    return recording_of(provider.inner) if isinstance(provider, WrappingPort) else None

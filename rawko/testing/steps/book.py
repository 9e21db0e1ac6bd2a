"""All phrases of contracts, in the order in which they are tried."""

from __future__ import annotations

from rawko.testing.phrases import PhraseBook
from rawko.testing.steps import actors, data, events, given, happening, states

BOOK = PhraseBook.of(given.BOOK, happening.BOOK, states.BOOK, events.BOOK, actors.BOOK, data.BOOK)

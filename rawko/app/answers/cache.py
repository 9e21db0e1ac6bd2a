"""The arbiter's cache of a run: looks up decisions by question in the state folder's store; counts hits."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from rawko.app.answers.store import AnswerStore, Warn
from rawko.app.run.models.endpoints import NAMES
from rawko.config import Settings
from rawko.machines.orchestrator.arbiter.decision import ArbiterDecision
from rawko.machines.orchestrator.asking import Answered, Question
from rawko.vocabulary.usage import Usage


def server_of(settings: Settings) -> str:
    """Hash that identifies the server in a question's key, since servers may answer the same question differently."""
    said: list[str] = [settings.provider]
    if settings.provider == "scripted" or settings.provider == "cassette":
        played = str(settings.scenario if settings.provider == "scripted" else settings.cassette)
        said += [played, _content(settings.workspace / played)]
    else:
        names = NAMES[settings.provider]
        address = settings.environ.get(names.address) or getattr(settings, names.setting) or names.own
        said.append(address.rstrip("/"))
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()


def _content(path: Path) -> str:
    """Hash of a scenario or cassette file; "" for a shipped scenario, which its name identifies."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


class CachedAnswers:
    """The answers of one server, in a store.

    Args:
        run: Id of the run that asks, if all questions are of one run.

    Attributes:
        asked, hits: Number of questions so far, and of those whose answer was in the store.
    """

    def __init__(self, store: AnswerStore, server: str, run: str = "") -> None:
        self._store = store
        self._run = run
        self._server = server
        self.asked = 0
        self.hits = 0

    def take(self, question: Question) -> ArbiterDecision | None:
        """The decision for an equal question; None where there is none. The question is counted."""
        self.asked += 1
        answered = self.answer(question)
        if answered is None:
            return None
        self.hits += 1
        return answered.decision

    def answer(self, question: Question, sample: int = 0) -> Answered | None:
        """The stored answer to an equal question; not counted.

        Args:
            sample: Number of the answer, where a question is asked several times.
        """
        found = self._store.take(self._key(question, sample))
        if found is None:
            return None
        try:
            return Answered(
                ArbiterDecision.model_validate(found["decision"]),
                Usage.model_validate(found["usage"]),
                Usage.model_validate(found["first"]),
            )
        except (KeyError, ValidationError):  # stored by another version
            return None

    def keep(self, question: Question, answered: Answered, sample: int = 0, run: str = "") -> None:
        """Store an answer."""
        told = {
            "decision": answered.decision.to_json(),
            "usage": answered.usage.to_json(),
            "first": answered.first.to_json(),
        }
        self._store.keep(self._key(question, sample), told, run or self._run)

    def _key(self, question: Question, sample: int) -> str:
        return question.key(f"{self._server}:{sample}" if sample else self._server)

    def notes(self) -> dict[str, Any]:
        """The counters, noted in the journal for a resume."""
        return {"arbiter_cache": {"asked": self.asked, "hits": self.hits}}

    def take_up(self, notes: Mapping[str, Any] | None) -> None:
        """Continue with the counters that `notes` gave."""
        noted = (notes or {}).get("arbiter_cache") or {}
        self.asked, self.hits = int(noted.get("asked", 0)), int(noted.get("hits", 0))

    def told(self) -> str:
        """The hit rate in words, for a report."""
        rate = f" ({self.hits / self.asked:.0%})" if self.asked else ""
        return f"the arbiter's cache held {self.hits} of {self.asked} answers{rate}"


def open_cache(settings: Settings, warn: Warn, run: str = "") -> CachedAnswers:
    """The cache of a state folder, for the server of the settings."""
    return CachedAnswers(AnswerStore(settings.state_dir, warn), server_of(settings), run)

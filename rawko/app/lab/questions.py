"""Builds recorded questions again: exactly as they were sent, and in each variant."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from typing import Any, Final, Literal

from rawko.app.lab.decisions import Decision
from rawko.app.lab.fields import without
from rawko.app.lab.variants import UNCHANGED, Template, Variant, with_template
from rawko.app.lab.windows import WindowedContext
from rawko.app.records.record import RunRecord
from rawko.app.run.assembly import model_of
from rawko.app.run.parts.project import require_grants, templates_of
from rawko.app.secrecy.prompt_key import prompt_key
from rawko.config import ConfigError, Settings
from rawko.machines.orchestrator.arbiter.inputs import (
    construct_evaluate_progress_input,
    construct_select_agent_input,
)
from rawko.machines.orchestrator.arbiter.prompt import evaluate_data, select_data
from rawko.machines.orchestrator.asking import Question, question_of
from rawko.machines.prompts.errors import PromptError
from rawko.machines.prompts.prompts import Prompts

Fit = Literal["exact", "changed", "unknown"]
"""Whether a rebuilt question equals the one that was sent; "unknown" for runs that did not record its hash."""

_CONSTRUCT: Final[Mapping[str, Any]] = {
    "select": construct_select_agent_input,
    "evaluate": construct_evaluate_progress_input,
}
_DATA: Final[Mapping[str, Any]] = {"select": select_data, "evaluate": evaluate_data}


class RunQuestions:
    """The questions of one run.

    Args:
        record: The run's record; its templates are read as they are now.
        current: The present settings: a scenario answers for every model under one name.

    Raises:
        ConfigError: The run's templates cannot be used, or are not trusted.
    """

    def __init__(self, record: RunRecord, current: Settings) -> None:
        settings = record.settings
        if settings.prompts_dir is not None:
            require_grants(settings)
        self._provider = current.provider
        self._model = model_of(settings)
        self._asked_model = model_of(current) if current.provider == "scripted" else self._model
        load = partial(with_template, templates_of(settings), key=prompt_key(settings.state_dir, record.run))
        self._prompts = cache(load)
        self._load(None)

    def _load(self, template: Template | None) -> Prompts:
        return self._prompts(template)

    def fit(self, decision: Decision) -> Fit:
        """Whether the rebuilt question of a decision equals the one that was sent."""
        if decision.asked_as is None:
            return "unknown"
        asked = self._question(decision, UNCHANGED, (decision.given.get("instead") or {}).get("model") or self._model)
        return "exact" if asked.asked_as == decision.asked_as else "changed"

    def question(self, decision: Decision, variant: Variant) -> Question:
        """The question of a decision in a variant.

        Raises:
            ConfigError: The template cannot show the data; the message says where.
        """
        return self._question(decision, variant, variant.model or self._model_of(decision))

    def _model_of(self, decision: Decision) -> str:
        """The model that made the decision, if it can be asked: it may be a fallback of another provider."""
        instead = decision.given.get("instead") or {}
        is_here = instead.get("provider") in (None, self._provider) and self._provider != "scripted"
        return instead["model"] if instead and is_here else self._asked_model

    def _question(self, decision: Decision, variant: Variant, model: str) -> Question:
        purpose, given = decision.purpose, decision.given
        if variant.window:
            given = _CONSTRUCT[purpose](
                WindowedContext(decision.context, variant.window), now_ms=decision.at_ms
            ).to_json()
        data = _DATA[purpose](given)
        if variant.without is not None:
            data = without(variant.without, purpose, data)
        agents = [agent["name"] for agent in given["available_agents"]]
        try:
            return question_of(self._load(variant.template), purpose, data, agents, model=model)
        except PromptError as error:
            where = f"step {decision.step} of run {decision.run!r}"
            raise ConfigError(f"{variant.name}, at {where}: {error}") from error

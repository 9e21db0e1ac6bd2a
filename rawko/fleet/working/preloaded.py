"""Imported by the process that the runs' processes are forked from: what each of them would load and build for itself.

Loaded here once, it costs a run nothing. What is opened is closed again, and threads have ended: neither would outlive
a fork.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from typing import Any, Final

from pydantic import BaseModel

from rawko.app.run.parts.charts import shipped_chart
from rawko.fleet.working.rehearsal import rehearse
from rawko.vocabulary.base import Data

_MODULES: Final = (
    "rawko.fleet.working.run_process",
    "rawko.app.run.run",
    "rawko.journal",
    "rawko.workspace",
    "rawko.chart.lowering",
    "rawko.postgres_sessions",
    "rawko.providers.scripted",
    "rawko.tools.masked_log",
    "rawko.tools.mcp",
    "sqlalchemy.dialects.postgresql.psycopg",
    "jinja2.sandbox",
    "jinja2.meta",
    "jsonschema",
    "platformdirs",
    "psycopg",
    "idna",
)
_OF_ANTHROPIC: Final = ("anthropic", "rawko.providers.anthropic_api")
"""Loaded where the worker has a key or an address for it: it takes longer than all others together."""
_CHARTS: Final = ("orchestrator", "agent_loop")


def load() -> None:
    """Load the modules, build the models, read the charts that every run needs, and carry out two small runs; then
    keep the collector off all that."""
    is_asked = any(name.startswith("ANTHROPIC_") for name in os.environ)
    for name in (*_MODULES, *(_OF_ANTHROPIC if is_asked else ())):
        with suppress(ImportError):  # of an extra that is not installed, which the run says when it needs it
            import_module(name)
    for model in _models(Data):
        model.model_rebuild(raise_errors=False)
    for stem in _CHARTS:
        shipped_chart(stem)
    rehearse()
    gc.collect()
    gc.freeze()  # a collection in a run's process would write to every page that it shares with this one


def _models(base: type[BaseModel]) -> Iterator[type[Any]]:
    for model in base.__subclasses__():
        yield model
        yield from _models(model)


load()

"""Imported by the process from which the runs' processes are forked: loads and builds what each of them needs.

Loaded here once, it costs a run nothing. Files are closed and threads have ended: neither would survive a fork.
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
    "rawko.providers.scripted.provider",
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
_OF_ANTHROPIC: Final = ("anthropic", "rawko.providers.anthropic.api")
"""Loaded if the worker has a key or an address for it: it takes longer than all others together."""
_CHARTS: Final = ("orchestrator", "agent_loop")


def load() -> None:
    """Import the modules, build the models, read the charts that every run needs, and run two small runs; then
    exclude all of it from garbage collection.
    """
    is_asked = any(name.startswith("ANTHROPIC_") for name in os.environ)
    for name in (*_MODULES, *(_OF_ANTHROPIC if is_asked else ())):
        with suppress(ImportError):  # an extra that is not installed is reported by the run that needs it
            import_module(name)
    for model in _models(Data):
        model.model_rebuild(raise_errors=False)
    for stem in _CHARTS:
        shipped_chart(stem)
    rehearse()
    gc.collect()
    gc.freeze()  # a collection in a run's process would write to every shared page


def _models(base: type[BaseModel]) -> Iterator[type[Any]]:
    for model in base.__subclasses__():
        yield model
        yield from _models(model)


load()

"""Imported by the process that the runs' processes are forked from: what each of them would load and build for itself.

Loaded here once, it costs a run nothing. Nothing is opened, and no thread is begun: neither would outlive a fork.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from typing import Any, Final

from pydantic import BaseModel

from rawko.app.run.parts.charts import shipped_chart
from rawko.vocabulary.base import Data

_MODULES: Final = (
    "rawko.fleet.working.run_process",
    "rawko.app.run.run",
    "rawko.journal",
    "rawko.workspace",
    "rawko.chart.lowering",
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
_CHARTS: Final = ("orchestrator", "agent_loop")


def load() -> None:
    """Load the modules, build the models, read the charts that every run needs; then keep the collector off them."""
    for name in _MODULES:
        with suppress(ImportError):  # of an extra that is not installed, which the run says when it needs it
            import_module(name)
    for model in _models(Data):
        model.model_rebuild(raise_errors=False)
    for stem in _CHARTS:
        shipped_chart(stem)
    gc.collect()
    gc.freeze()  # a collection in a run's process would write to every page that it shares with this one


def _models(base: type[BaseModel]) -> Iterator[type[Any]]:
    for model in base.__subclasses__():
        yield model
        yield from _models(model)


load()

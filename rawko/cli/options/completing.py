"""Words for shell completion: runs, steps, agents, states, charts.

A completion never fails and never prints: for an unreadable folder it has no words. Only words that need no quoting in
a shell are offered, since names of files may contain any characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

_PLAIN: Final = re.compile(r"[A-Za-z0-9_@.,:/+-]+")
_MOST: Final = 100
Found = list[tuple[str, str]]
"""Words, each with a description that some shells show beside it."""


def runs(incomplete: str) -> Found:
    """Ids of runs, the latest first, and `last`."""
    return _fitting([*_runs(), ("last", "the latest run")], incomplete)


def steps(incomplete: str) -> Found:
    """Ids of runs; after an `@` places within the run."""
    run, at, _ = incomplete.partition("@")
    if at:
        return _fitting(((f"{run}@{place}", told) for place, told in _PLACES), incomplete)
    return _fitting(((f"{name}@", told) for name, told in [*_runs(), ("last", "the latest run")]), incomplete)


def run_or_step(incomplete: str) -> Found:
    return steps(incomplete) if "@" in incomplete else runs(incomplete)


_PLACES: Final = (("last", "the run's end"), ("-1", "the step before the end"), ("1", "the first step"))


def agents(incomplete: str) -> Found:
    """Agents of the current folder, or the built-in ones, and the arbiter."""
    return _fitting(((name, "") for name in [*_agents(), "arbiter"]), incomplete)


def states(incomplete: str) -> Found:
    """States of the shipped charts."""
    return _fitting(((name, "") for name in _states()), incomplete)


def providers(incomplete: str) -> Found:
    """The providers of models."""
    from typing import get_args

    from rawko.config.settings import ProviderName

    return _fitting(((name, "") for name in get_args(ProviderName)), incomplete)


def scenarios(incomplete: str) -> Found:
    """The shipped scenarios, and YAML files and folders in the folder of the typed path."""
    from rawko.providers.scripted.scenario_file import shipped_scenarios

    shipped = [] if "/" in incomplete else [(name, "shipped with rawko") for name in shipped_scenarios()]
    return [*_fitting(shipped, incomplete), *charts(incomplete)]


def charts(incomplete: str) -> Found:
    """Charts and folders in the folder of the typed path."""
    folder = Path(incomplete if incomplete.endswith("/") else Path(incomplete).parent)
    prefix = "" if folder == Path() and not incomplete.startswith("./") else f"{folder}/".replace("//", "/")
    return _fitting(((f"{prefix}{name}", "") for name in _files(folder)), incomplete)


def _fitting(found: Iterable[tuple[str, str]], incomplete: str) -> Found:
    return [(word, told) for word, told in found if word.startswith(incomplete) and _PLAIN.fullmatch(word)][:_MOST]


def _files(folder: Path) -> Iterator[str]:
    try:
        for path in sorted(folder.iterdir()):
            if path.name.startswith("."):
                continue
            if path.is_dir():
                yield f"{path.name}/"
            elif path.suffix in (".yaml", ".yml"):
                yield path.name
    except OSError:
        return


def _runs() -> Iterator[tuple[str, str]]:
    from rawko.cli.settings import settings_for_reading
    from rawko.config import ConfigError
    from rawko.extras import MissingExtra

    try:
        from rawko.app.records.naming import names_of

        names = names_of(settings_for_reading(is_told=False), with_explorations=True)
    except (ConfigError, MissingExtra, OSError):
        return
    for name in reversed(names):
        yield name, ""


def _agents() -> Iterator[str]:
    from rawko.cli.settings import settings_for_reading
    from rawko.config import ConfigError

    try:
        yield from settings_for_reading(is_told=False).agents
    except (ConfigError, OSError):
        return


def _states() -> list[str]:
    from rawko.chart import find_chart, load_chart, shipped_charts

    return sorted({state for name in shipped_charts() for state in load_chart(find_chart(name)).states})

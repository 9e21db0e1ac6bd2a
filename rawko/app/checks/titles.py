"""The title of a demand for evidence, for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rawko.vocabulary.evidence import Demand


def title_of(demand: Mapping[str, Any]) -> str:
    """The title of a demand, which is given as data: its name, or its condition."""
    return Demand.model_validate(dict(demand)).title

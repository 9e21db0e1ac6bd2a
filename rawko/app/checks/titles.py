"""How a demanded piece of evidence is called where people read of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rawko.vocabulary.evidence import Demand


def title_of(demand: Mapping[str, Any]) -> str:
    """The name of a demand, which is data, or what it demands."""
    return Demand.model_validate(dict(demand)).title

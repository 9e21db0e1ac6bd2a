"""Inputs, events and outputs as ASCII JSON text: PostgreSQL's JSON type accepts neither NUL nor lone surrogates."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rawko.fleet.errors import FleetError
from rawko.interpreter.data.freezing import freeze
from rawko.interpreter.data.values import thaw
from rawko.interpreter.errors import NotJsonError


def as_text(value: Any, where: str) -> str:
    """A value as text; equal values give equal texts.

    Raises:
        FleetError: The value is not JSON; the message says where, and what is accepted.
    """
    try:
        return json.dumps(thaw(freeze(value, where)), sort_keys=True, separators=(",", ":"), allow_nan=False)
    except NotJsonError as error:
        raise FleetError(str(error)) from error
    except ValueError as error:
        raise FleetError(f"{where}: {error}; accepted: JSON") from error


def object_as_text(value: Any, where: str) -> str:
    """As `as_text`, of a mapping.

    Raises:
        FleetError: The value is no mapping, or not JSON.
    """
    if not isinstance(value, Mapping):
        raise FleetError(f"{where} is {value!r} ({type(value).__name__}); accepted: a mapping of JSON")
    return as_text(value, where)

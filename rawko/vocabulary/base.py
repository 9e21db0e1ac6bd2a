"""The one base of the vocabulary: frozen, strict about unknown fields, JSON in and JSON out."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict


class Data(BaseModel):
    """Frozen data whose fields are all JSON-typed; unknown fields are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)

    def to_json(self) -> dict[str, Any]:
        """The value as plain JSON data; fields that are None stay, so that shapes are total."""
        return self.model_dump(mode="json")

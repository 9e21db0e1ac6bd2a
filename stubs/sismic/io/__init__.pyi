import os
from typing import Any

from sismic.model import Statechart

def import_from_yaml(
    text: str | None = ...,
    filepath: str | bytes | os.PathLike[Any] | None = ...,
    *,
    ignore_schema: bool = ...,
    ignore_validation: bool = ...,
) -> Statechart: ...
def export_to_yaml(statechart: Statechart, filepath: str | bytes | os.PathLike[Any] | None = ...) -> str: ...

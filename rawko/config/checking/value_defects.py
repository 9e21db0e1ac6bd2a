"""Values of a settings file that have the right type but cannot be used, each with its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from urllib.parse import urlsplit

from rawko.vocabulary.documents import Defect, Document


def value_defects(document: Document, is_folder: Callable[[str], bool]) -> Iterator[Defect]:
    """The defects of a file's values: an address that is not a URL, a templates folder that does not exist.

    Args:
        is_folder: Whether a path is a folder, resolved as the file's paths are.
    """
    data = document.data if isinstance(document.data, Mapping) else {}
    for key in ("base_url", "openai_base_url"):
        address = data.get(key)
        if isinstance(address, str) and not is_address(address):
            yield Defect(document.source, *document.place((key,)), f"{key!r}: found {address!r}; {ADDRESS}")
    prompts = data.get("prompts")
    if isinstance(prompts, str) and not is_folder(prompts):
        yield Defect(document.source, *document.place(("prompts",)), f"'prompts' names {prompts!r}, which is no folder")


ADDRESS = "accepted: a URL like http://localhost:11434"


def is_address(url: str) -> bool:
    """Whether a URL can be the address of a model: http or https, with a host and a valid port."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False

"""Which keys go where: never to an address that only a repository names."""

from __future__ import annotations

from pathlib import Path

import pytest

from rawko.app.run.parts.provider import _sign_in
from rawko.config import Flags, load_settings
from rawko.trust.project import grant

KEYS = {"ANTHROPIC_API_KEY": "key", "ANTHROPIC_AUTH_TOKEN": "token"}


@pytest.mark.parametrize(
    ("in_file", "in_environment", "address", "has_keys"),
    [
        (None, None, None, True),
        (None, "https://proxy.example", "https://proxy.example", True),
        ("https://evil.example", None, "https://evil.example", False),
        ("https://localhost.evil.example", None, "https://localhost.evil.example", False),
        ("https://api.anthropic.com@evil.example", None, "https://api.anthropic.com@evil.example", False),
        ("https://evil.example", "https://proxy.example", "https://proxy.example", True),
        ("http://localhost:11434", None, "http://localhost:11434", True),
        ("http://127.0.0.1:8080", None, "http://127.0.0.1:8080", True),
        ("https://api.anthropic.com", None, "https://api.anthropic.com", True),
    ],
)
def test_keys_are_sent_only_where_the_environment_says(
    tmp_path: Path, in_file: str | None, in_environment: str | None, address: str | None, has_keys: bool
) -> None:
    if in_file is not None:
        (tmp_path / ".rawko").mkdir()
        (tmp_path / ".rawko" / "config.yaml").write_text(f"base_url: {in_file}\n", encoding="utf-8")
    environ = {**KEYS, **({"ANTHROPIC_BASE_URL": in_environment} if in_environment else {})}
    found = _sign_in(load_settings(tmp_path, Flags(), environ, judge=grant))
    assert found.get("ANTHROPIC_BASE_URL") == address
    assert (KEYS.items() <= found.items()) is has_keys
    assert has_keys or not (KEYS.keys() & found.keys())

"""Fixtures of the provider tests."""

from __future__ import annotations

from tests.llmock_server import llmock_server

__all__ = ["llmock_server"]

"""The example of the page on the fleet, as it stands there."""

from __future__ import annotations

import ast
import asyncio
from contextlib import suppress
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from tests.fleet.actors.charts import kinds

PAGE = Path(__file__).parents[3] / "docs" / "fleet.md"


async def test_the_example_of_the_page_runs(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = PAGE.read_text("utf-8").partition('```python title="told"\n')[2].partition("```")[0]
    anywhere, begins, on_workers = text.partition("worker = ")
    assert begins
    order = kinds()["orders"]
    names: dict[str, Any] = {"url": address, "chart": order.chart, "bindings": order.bindings}
    imports = anywhere.partition("\n\n")[0]
    working = asyncio.create_task(_carry_out(f"{imports}\n{begins}{on_workers}", dict(names)))
    try:
        await _carry_out(anywhere, names)
    finally:
        working.cancel()
        with suppress(asyncio.CancelledError):
            await working
    assert capsys.readouterr().out == "['tea']\n"


async def _carry_out(text: str, names: dict[str, Any]) -> None:
    code: CodeType = compile(text, str(PAGE), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    found = eval(code, names)
    if found is not None:
        await found

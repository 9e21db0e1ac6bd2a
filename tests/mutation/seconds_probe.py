"""A pytest plugin: how long each test takes, one JSON row `[node id, seconds]` per test in a file per process."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    folder = os.environ.get("RAWKO_TEST_SECONDS", "")
    if report.when == "call" and folder and not hasattr(report, "node"):
        with (Path(folder) / str(os.getpid())).open("a", encoding="utf-8") as file:
            file.write(json.dumps([report.nodeid, report.duration]) + "\n")

"""Our interpreter under sismic's name: a pytest plugin for the suite's own process, and a context for its pages.

Only what a user would write is exchanged (`from sismic.interpreter import Interpreter`); sismic's model, evaluator,
clocks, helpers, runner and BDD stay sismic's.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
import sismic.interpreter

from rawko.interpreter import Interpreter

ENGINE = "SISMIC_ENGINE"
"""Names the engine in the environment of the suite's process: `rawko` or `sismic`."""


class _DropIn(type):
    def __call__(cls, statechart: Any, **options: Any) -> Interpreter:
        return Interpreter.from_sismic(statechart, trusted=True, **options)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Interpreter)


class DropIn(metaclass=_DropIn):
    """Called and asked for as sismic's class; makes trusted interpreters of ours."""


@contextmanager
def in_place_of_sismic() -> Iterator[None]:
    """`sismic.interpreter.Interpreter` is ours."""
    stock = sismic.interpreter.Interpreter
    setattr(sismic.interpreter, "Interpreter", DropIn)  # noqa: B010  # a class's name, to the type checker
    try:
        yield
    finally:
        setattr(sismic.interpreter, "Interpreter", stock)  # noqa: B010


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    """Exchange the engine before any module of the suite is imported; the process ends with the suite."""
    if os.environ.get(ENGINE) == "rawko":
        setattr(sismic.interpreter, "Interpreter", DropIn)  # noqa: B010


@pytest.fixture
def mocker() -> Iterator[Any]:
    """What the suite uses of pytest-mock."""
    patches: list[Any] = []

    def patch(*arguments: Any, **options: Any) -> Any:
        patches.append(mock.patch(*arguments, **options))
        return patches[-1].start()

    make: Callable[..., Any] = mock.MagicMock
    yield SimpleNamespace(MagicMock=make, DEFAULT=mock.DEFAULT, patch=patch)
    for entry in patches:
        entry.stop()

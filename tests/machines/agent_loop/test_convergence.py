"""The monitor of an agent that goes in circles: what counts as the same, how long it is remembered, what it costs."""

from __future__ import annotations

from typing import Any, cast

import pytest

from rawko.interpreter import Record, freeze
from rawko.interpreter.data.updates import Assign
from rawko.machines.agent_loop import AgentLoopContext
from rawko.machines.agent_loop.context import ToolEntry
from rawko.machines.agent_loop.convergence import forget_repetition, repetition_question, watched

Call = tuple[str, str, str]
"""Command, tree that it finds, what it says; "!" before an error."""


def played(*calls: Call, repeats: int = 3) -> Record:
    """The context after these calls."""
    fields: dict[str, Any] = {"limits": {"repeats": repeats}}
    for command, tree, said in calls:
        fields["current_snapshot"] = {"tree": tree, "commit": "c"}
        result = {"call_id": "c", "content": said.removeprefix("!"), "is_error": said.startswith("!")}
        entry = ToolEntry.model_validate(
            {"call": {"id": "c", "name": command.split()[0], "input": {"command": command}}, "result": result}
        )
        updates = watched(cast("AgentLoopContext", _context(fields)), entry)
        if isinstance(updates, Assign):
            fields |= AgentLoopContext.model_validate({**fields, **updates.fields}).to_json()
    return _context(fields)


def _context(fields: dict[str, Any]) -> Record:
    frozen = freeze(AgentLoopContext.model_validate(fields).to_json())
    assert isinstance(frozen, Record)
    return frozen


CIRCLES: list[tuple[str, list[Call], str | None]] = [
    ("the same three times", [("ls", "t", "a")] * 3, "call"),
    ("twice is not yet a circle", [("ls", "t", "a")] * 2, None),
    ("whatever it says", [("date", "t", "1"), ("date", "t", "2"), ("date", "t", "3")], "call"),
    ("with others between them", [("ls", "t", "a"), ("cat", "t", "b")] * 3, "call"),
    ("other files", [("ls", "t1", "a"), ("ls", "t2", "a"), ("ls", "t3", "a")], None),
    ("to and fro", [("x", "t1", "a"), ("y", "t2", "a")] * 3, "call"),
    ("other arguments", [("ls a", "t", "a"), ("ls b", "t", "a"), ("ls c", "t", "a")], None),
    ("the same error of other calls", [("sh 1", "t", "!no"), ("sh 2", "u", "!no"), ("sh 3", "v", "!no")], "error"),
    ("the same words of other tools", [("a", "t", "!no"), ("b", "u", "!no"), ("c", "v", "!no")], None),
    ("other errors", [("sh 1", "t", "!a"), ("sh 2", "u", "!b"), ("sh 3", "v", "!a")], None),
    ("a success of the tool between",
     [("sh 1", "t", "!a"), ("sh 2", "u", "!a"), ("sh", "v", "b"), ("sh 3", "w", "!a")], None),
    ("a success of another tool between",
     [("sh 1", "t", "!a"), ("ls", "t", "x"), ("sh 2", "u", "!a"), ("sh 3", "w", "!a")], "error"),
    ("too long ago", [("ls", "t", "a"), *((f"n {n}", "t", "a") for n in range(12)), *[("ls", "t", "a")] * 2], None),
]  # fmt: skip


@pytest.mark.parametrize(("calls", "kind"), [case[1:] for case in CIRCLES], ids=[case[0] for case in CIRCLES])
def test_what_is_a_circle(calls: list[Call], kind: str | None) -> None:
    found = played(*calls).repeated
    assert (None if found is None else found.kind) == kind


@pytest.mark.parametrize(("repeats", "kind"), [(0, None), (2, "call"), (5, None)])
def test_how_often_is_too_often_is_configured_and_0_is_never(repeats: int, kind: str | None) -> None:
    found = played(*[("ls", "t", "a")] * 4, repeats=repeats).repeated
    assert (None if found is None else found.kind) == kind


def test_the_data_says_what_was_repeated() -> None:
    found = played(*[("make all", "t9", "!boom")] * 3).repeated
    assert found is not None
    assert dict(found) == {
        "kind": "error",
        "call": 'make {"command": "make all"}',
        "times": 3,
        "tree": "t9",
        "message": "boom",
    }
    assert "3 times the same error" in repetition_question(found).text
    assert repetition_question(found).text.endswith("boom")


def test_a_long_error_is_cut_at_300_characters() -> None:
    found = played(*[("sh", "t", "!" + "x" * 299 + "yz")] * 3).repeated
    assert found is not None
    assert found.message == "x" * 299 + "y"


def test_a_thousand_calls_are_remembered_in_the_space_of_a_dozen() -> None:
    context = played(*((f"n {n}", "t", "a") for n in range(1000)))
    assert len(context.recent_calls) == 12
    assert max(map(len, context.recent_calls)) == 16


def test_a_person_who_says_how_to_go_on_wipes_the_slate() -> None:
    forgotten = forget_repetition()
    assert isinstance(forgotten, Assign)
    assert dict(forgotten.fields) == {"recent_calls": [], "error_streak": None, "repeated": None}

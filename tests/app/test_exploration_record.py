"""The record of an exploration: nothing that was persisted is lost, nothing is there twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rawko.app.exploration.record import ExplorationPlan, ExplorationRecord
from rawko.config import ConfigError
from rawko.machines.node_engine import RunState

PLAN = ExplorationPlan(command=("cat",), cwd="/")


def typed(rule: str) -> dict[str, Any]:
    return {"type": "DECIDED", "hash": "h", "rule": rule, "decision": {"action": "keys", "text": "x"}}


def state(step: int) -> RunState:
    return RunState(node_name="switch_policy", step_ordinal=step, data={"umlaut": "ä日\ud800"})


async def kept(folder: Path, *steps: tuple[int, str]) -> ExplorationRecord:
    record = ExplorationRecord(folder)
    record.begin(PLAN)
    for step, rule in steps:
        await record.on_persist(state(step), [typed(rule)], "switch_policy")
    record.close()
    return record


def rules(record: ExplorationRecord) -> list[str]:
    return [event["rule"] for event in record.decisions()]


async def test_what_was_kept_is_read_again(tmp_path: Path) -> None:
    record = await kept(tmp_path / "r", (1, "a"), (2, "b"))
    plan, again = ExplorationRecord.read(tmp_path / "r")
    assert plan == PLAN
    assert (again.attempts, rules(again)) == (record.attempts, ["a", "b"])
    assert again.last_state == state(2)
    assert again.report() is None


async def test_an_attempt_that_is_kept_twice_counts_once(tmp_path: Path) -> None:
    record = await kept(tmp_path / "r", (1, "a"), (2, "b"), (2, "c"))
    assert rules(record) == rules(ExplorationRecord.read(tmp_path / "r")[1]) == ["a", "c"]


@pytest.mark.parametrize("lost", [1, 5, 40])
async def test_a_line_that_a_kill_has_torn_was_not_kept(tmp_path: Path, lost: int) -> None:
    await kept(tmp_path / "r", (1, "a"), (2, "b"))
    path = tmp_path / "r" / "attempts.jsonl"
    path.write_bytes(path.read_bytes()[:-lost])
    _, record = ExplorationRecord.read(tmp_path / "r")
    assert rules(record) == ["a"]
    await record.on_persist(state(2), [typed("b")], "switch_policy")
    record.close()
    assert rules(ExplorationRecord.read(tmp_path / "r")[1]) == ["a", "b"]
    assert [json.loads(line)["state"]["step_ordinal"] for line in path.read_text().splitlines()] == [1, 2]


def test_a_record_that_there_is_not(tmp_path: Path) -> None:
    ExplorationRecord(tmp_path / "known").begin(PLAN)
    with pytest.raises(ConfigError, match="no exploration 'r' of this workspace; the latest: known"):
        ExplorationRecord.read(tmp_path / "r")


@pytest.mark.parametrize(
    ("text", "told"),
    [("{", "cannot be read"), ("[]", "damaged"), ('{"format": 9}', "format 9"), ('{"format": 1}', "damaged")],
)
def test_a_record_that_cannot_be_read(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "plan.json").write_text(text)
    with pytest.raises(ConfigError, match=told):
        ExplorationRecord.read(tmp_path)


@pytest.mark.parametrize("line", ["{", "[]", '{"node": "x"}', '{"node": "x", "state": {"tokens": -1}, "events": []}'])
async def test_a_damaged_attempt_is_named(tmp_path: Path, line: str) -> None:
    await kept(tmp_path / "r", (1, "a"))
    path = tmp_path / "r" / "attempts.jsonl"
    path.write_bytes(path.read_bytes() + line.encode() + b"\n")
    with pytest.raises(ConfigError, match=r"attempts\.jsonl:2: damaged"):
        ExplorationRecord.read(tmp_path / "r")


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="cannot be written"):
        ExplorationRecord(tmp_path / "file" / "r").begin(PLAN)

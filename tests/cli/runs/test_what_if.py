"""`rawko show RUN@K --if EVENT`: what an event would lead to at a step; the run is as it was."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Typed
from tests.cli.shell import Shell, call, says
from tests.e2e.time_travel.recorded_run import Travel

ASKS = says("developer", call("clarify", question="Tabs?"))


@pytest.fixture
def asking(rawko: Shell, typed: Typed) -> Travel:
    """A run that stands in a question."""
    return Travel(rawko, typed, ASKS, says("developer", call("complete", summary="Done.")))


def test_each_event_is_told_with_what_it_would_lead_to_and_the_run_is_as_it_was(asking: Travel) -> None:
    before = asking.log()
    told = asking.typed("show", "@last", "--if", "all").out
    assert "CANCEL  root\n  waiting awaiting_clarification → cancelling\n" in told
    assert 'question: {"kind": "clarify", "text": "Tabs?"} → null' in told
    assert "start capture_snapshot (capture_last)" in told
    assert "STOP_TURN  root\n  denied by guard\n  running -> stopping: guard [is_interactive]" in told
    assert asking.log() == before
    assert asking.typed("answer", asking.run, "spaces", "--json").report["outcome"] == "success"


def test_one_event_with_its_data(asking: Travel) -> None:
    words = ("show", "@last", "--if", "USER_MESSAGE", "--data", '{"content": "four spaces"}')
    (one,) = asking.typed(*words, "--json").report["if"]
    assert (one["actor"], one["receipt"], one["after"][-1]) == ("root", "taken", "thinking")
    assert "four spaces" in str(one["context"])
    assert [effect["src"] for effect in one["effects"] if effect["type"] == "start"] == ["stream_agent"]
    raised = asking.typed("show", "@last", "--if", "RATE_WAIT").out
    assert "raises: " in raised and "has no field" in raised
    other = asking.typed("show", "@1", "--if", "CANCEL", "--json")
    assert other.report["step"] == 1


REFUSED = (
    (("@last", "--if", "CANCELL"), "no machine knows 'CANCELL' after step 4; did you mean 'CANCEL'?"),
    (("@last", "--if", "CANCEL", "--machine", "root/x"), "no machine 'root/x' was running after step 4; there "),
    (("@last", "--if", "done.invoke.capture_last"), "actor 'capture_last' is not running; in flight: "),
    (("@last", "--if", "CANCEL", "--data", "[1]"), "--data is a JSON list; accepted: an object"),
    (("@last", "--if", "CANCEL", "--data", "{"), "--data is no JSON: "),
    (("--if", "CANCEL"), "--if asks of one step: "),
    (("@last", "--data", "{}"), "--data and --machine go with --if EVENT"),
)


def test_what_cannot_be_asked_is_refused(asking: Travel) -> None:
    for words, told in REFUSED:
        refused = asking.typed("show", *words)
        assert (refused.code, refused.out) == (2, "") and told in refused.err, words

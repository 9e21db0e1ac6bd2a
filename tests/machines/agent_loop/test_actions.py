"""Each action, as a table: what it assigns, appends and tells. How they follow each other is shown in test_run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from rawko.interpreter import freeze, thaw
from rawko.interpreter.data.events import make_event
from rawko.interpreter.data.updates import Append, Assign, Emit, Log, Raise, Send, Update, Updates
from rawko.machines.agent_loop import AgentLoopContext, actions, budgets, people
from rawko.machines.agent_loop import failure_actions as failing
from rawko.machines.agent_loop.conversation import compaction as compacting
from rawko.machines.agent_loop.conversation import texts

CALL = {"id": "c1", "name": "bash", "input": {"command": "make"}}
OPEN = {"call": CALL, "is_truncated": False}
NEXT = {"call": {"id": "c2", "name": "read", "input": {}}, "is_truncated": False}
COMPLETE = {"call": {"id": "c3", "name": "complete", "input": {"summary": "Done."}}, "is_truncated": False}
CLARIFY = {"call": {"id": "c4", "name": "clarify", "input": {"question": "Tabs?"}}, "is_truncated": False}
PAUSE = {"call": {"id": "c5", "name": "pause", "input": {"reason": "stuck"}}, "is_truncated": False}
PLANS = {"call": {"id": "c6", "name": "update_plan", "input": {"steps": [{"description": "a"}]}}, "is_truncated": False}
RESULT = {"call_id": "c0", "content": "ok", "is_error": False}
FAILED = {"call": CALL, "result": {"call_id": "c1", "content": "boom", "is_error": True}}
OUTCOME = {
    "content": "made",
    "is_error": False,
    "is_broken": False,
    "is_denied": False,
    "exit_code": 0,
    "touched": ["a"],
}
SHOT = {"tree": "t1", "commit": "k1", "label": "bash", "skipped": []}
USAGE = {"input_tokens": 1, "output_tokens": 2, "cache_read_tokens": 0, "cache_write_tokens": 0, "calls": 1}
USES = {"type": "tool_use", "id": "c1", "name": "bash", "input": {"command": "make"}}
EMPTY: dict[str, Any] = {"pending_calls": [], "open_call": None, "turn_results": [], "approval": None}


def block(id: str, content: str, *, is_error: bool = False) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": content, **({"is_error": True} if is_error else {})}


def user(*content: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return "messages", {"role": "user", "content": list(content)}


def words(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


@dataclass(frozen=True)
class Row:
    """One case. `assigns` is a part of what is assigned; `appends` and `tells` are whole, in order."""

    action: str
    fields: dict[str, Any] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)
    arguments: dict[str, Any] = field(default_factory=dict)
    assigns: dict[str, Any] = field(default_factory=dict)
    appends: list[tuple[str, Any]] = field(default_factory=list)
    tells: list[str] = field(default_factory=list)


TURN = {
    "message": {"role": "assistant", "content": [words("hi"), USES]},
    "stop_reason": "tool_use",
    "usage": USAGE,
    "model": "m",
}
ERROR = {"message": "slow", "category": "provider_error", "code": "overloaded", "usage": USAGE}

TABLE = [
    Row("begin", {"messages": [{"role": "user", "content": []}]}, assigns={"new_messages_from": 1, "plan_given": None}),
    Row(
        "begin",
        {"messages": [{"role": "assistant", "content": [USES]}]},
        assigns={"new_messages_from": 1},
        appends=[user(block("c1", texts.CANCELLED_CALL, is_error=True))],
    ),
    Row("receive_prompt", {"prompt": "go"}, appends=[user(words("go"))]),
    Row(
        "record_snapshot",
        {},
        {"output": {"snapshot": SHOT, "written": []}},
        assigns={"current_snapshot": SHOT, "touched": None},
        appends=[("snapshot_history", {**SHOT, "call_id": None})],
        tells=["emit SNAPSHOT_CAPTURED"],
    ),
    Row(
        "record_snapshot",
        {"tool_history": [FAILED], "current_snapshot": {**SHOT, "tree": "t0"}},
        {"output": {"snapshot": SHOT, "written": [{"path": "a", "kind": "unchanged"}]}},
        {"is_tools": True},
        assigns={"current_snapshot": SHOT, "touched": None},
        appends=[
            ("snapshot_history", {**SHOT, "call_id": "c1"}),
            ("file_changes", [{"path": "a", "kind": "unchanged"}]),
        ],
        tells=["emit SNAPSHOT_CAPTURED"],
    ),
    Row(  # as a run was recorded before there were `file_changes`
        "record_snapshot",
        {"tool_history": [FAILED], "current_snapshot": {**SHOT, "tree": "t0"}},
        {"output": {"snapshot": SHOT, "changes": [{"path": "a", "kind": "added"}]}},
        {"is_tools": True},
        assigns={"files_changed": [{"path": "a", "kind": "added"}]},
        appends=[("snapshot_history", {**SHOT, "call_id": "c1"})],
        tells=["emit SNAPSHOT_CAPTURED"],
    ),
    Row(
        "record_snapshot",
        {"current_snapshot": SHOT},
        {"output": {"snapshot": SHOT, "written": []}},
        assigns={"touched": None},
    ),
    Row("begin_turn", {"current_response": ["x"]}, assigns={"current_response": []}),
    Row("append_text", data={"text": "hi"}, appends=[("current_response", "hi")], tells=["emit TEXT_DELTA"]),
    Row(
        "record_turn",
        {"turns": 1, "usage": USAGE, "retries": 2},
        {"output": TURN},
        assigns={
            "turns": 2,
            "usage": {name: 2 * count for name, count in USAGE.items()},
            "pending_calls": [OPEN],
            "stop_reason": "tool_use",
            "model": "m",
            "retries": 0,
            "last_error": None,
        },
        appends=[("messages", TURN["message"])],
        tells=["send AGENT_MESSAGE", "emit AGENT_MESSAGE", "emit TURN_DONE"],
    ),
    Row(
        "record_turn",
        data={"output": {**TURN, "stop_reason": "max_tokens"}},
        assigns={"pending_calls": [{**OPEN, "is_truncated": True}]},
        appends=[("messages", TURN["message"])],
        tells=["send AGENT_MESSAGE", "emit AGENT_MESSAGE", "emit TURN_DONE"],
    ),
    Row(
        "record_turn",
        data={"output": {**TURN, "stop_reason": "refusal"}},
        assigns={"pending_calls": [], "turns": 1},
        tells=["send AGENT_MESSAGE", "emit AGENT_MESSAGE", "emit TURN_DONE"],
    ),
    Row(
        "fall_back",
        {"retries": 2, "fallback": {"model": "b"}},
        {"error": ERROR},
        assigns={"is_fallen_back": True, "retries": 0},
        tells=["log", "emit MODEL_FALLBACK"],
    ),
    Row("count_retry", {"retries": 1}, {"error": ERROR}, assigns={"retries": 2}, tells=["log", "emit AGENT_RETRY"]),
    Row(
        "nudge", {"nudges": 1}, assigns={"nudges": 2}, appends=[user(words(texts.NUDGE))], tells=["emit AGENT_STOPPED"]
    ),
    Row(
        "continue_cut_off",
        {"turn_results": [RESULT]},
        assigns={"continuations": 1, **EMPTY},
        appends=[user(block("c0", "ok"), words(texts.CUT_OFF))],
    ),
    Row(
        "answer_next_call",
        {"pending_calls": [PLANS, NEXT]},
        assigns={"pending_calls": [NEXT]},
        appends=[
            (
                "turn_results",
                {"call_id": "c6", "content": "Plan updated: 0 of 1 steps finished, now at step 1.", "is_error": False},
            )
        ],
        tells=["emit PLAN_UPDATED"],
    ),
    Row(
        "answer_next_call",
        {"pending_calls": [{**OPEN, "is_truncated": True}]},
        assigns={"pending_calls": []},
        appends=[("turn_results", {"call_id": "c1", "content": texts.TRUNCATED_CALL, "is_error": True})],
    ),
    Row(
        "open_next_call",
        {"pending_calls": [OPEN, NEXT]},
        assigns={"open_call": OPEN, "pending_calls": [NEXT]},
        tells=["send AGENT_TOOL_CALL", "emit AGENT_TOOL_CALL"],
    ),
    Row(
        "record_result",
        {"open_call": OPEN, "tool_steps": 4},
        {"output": OUTCOME},
        assigns={"tool_steps": 5, "open_call": None, "touched": ["a"]},
        appends=[
            (
                "tool_history",
                {
                    "call": CALL,
                    "result": {"call_id": "c1", "content": "made", "is_error": False},
                    "is_broken": False,
                    "is_denied": False,
                    "exit_code": 0,
                },
            ),
            ("turn_results", {"call_id": "c1", "content": "made", "is_error": False}),
        ],
        tells=["emit AGENT_TOOL_RESULT"],
    ),
    *(
        Row(
            action,
            {"open_call": OPEN},
            data,
            assigns={"tool_steps": 1, "open_call": None},
            appends=[
                (
                    "tool_history",
                    {
                        "call": CALL,
                        "result": {"call_id": "c1", "content": content, "is_error": True},
                        "is_broken": action == "record_crash",
                        "is_denied": action != "record_crash",
                        "exit_code": None,
                    },
                ),
                ("turn_results", {"call_id": "c1", "content": content, "is_error": True}),
            ],
            tells=["emit AGENT_TOOL_RESULT"],
        )
        for action, data, content in (
            ("record_crash", {"error": {"message": "lost"}}, "The tool itself is broken: lost"),
            (
                "refuse_call",
                {"output": {"decision": "deny", "rule": "deny bash", "reason": ""}},
                "Denied by the rule 'deny bash'; the call was not run.",
            ),
            ("deny_call", {"reason": "no"}, "The user denied this call; it was not run. no"),
            ("deny_call", {"content": "wait"}, "The user denied this call; it was not run. wait"),
            ("deny_call", {}, "The user denied this call; it was not run."),
        )
    ),
    Row("answer_turn", {"turn_results": [RESULT]}, assigns=EMPTY, appends=[user(block("c0", "ok"))]),
    Row(
        "ask_approval",
        {"open_call": OPEN, "agent": "dev"},
        assigns={
            "question": {"kind": "approval", "text": 'May the agent \'dev\' run bash {"command": "make"}?'},
        },
    ),
    Row(
        "ask_clarification",
        {"pending_calls": [CLARIFY, NEXT]},
        assigns={
            "open_call": CLARIFY,
            "pending_calls": [NEXT],
            "question": {"kind": "clarify", "text": "Tabs?"},
        },
        tells=["emit AGENT_CLARIFICATION"],
    ),
    Row(
        "pause_run",
        {"pending_calls": [PAUSE]},
        assigns={"open_call": PAUSE, "question": {"kind": "pause", "text": "stuck"}, "reason": "agent"},
        tells=["emit AGENT_PAUSED"],
    ),
    Row("pause_silent", assigns={"reason": "silent_stop"}, tells=["emit AGENT_PAUSED"]),
    Row(
        "raise_answer",
        {"question": {"kind": "clarify", "text": "?"}},
        {"output": {"text": "x"}},
        tells=["raise USER_MESSAGE"],
    ),
    Row(
        "raise_answer",
        {"question": {"kind": "approval", "text": "?"}},
        {"output": {"text": "tool"}},
        tells=["raise APPROVE"],
    ),
    Row(
        "raise_answer",
        {"question": {"kind": "approval", "text": "?"}},
        {"output": {"text": "deny"}},
        tells=["raise DENY"],
    ),
    Row(
        "raise_answer",
        {"question": {"kind": "approval", "text": "?"}},
        {"output": {"text": "hm"}},
        tells=["raise DENY"],
    ),
    Row(
        "report_unattended",
        {"question": {"kind": "pause", "text": "?"}},
        assigns={"is_unattended": True},
        tells=["emit NEEDS_PERSON", "send AGENT_WAITING", "emit AGENT_WAITING"],
    ),
    Row(
        "report_attended",
        {"is_unattended": True},
        assigns={"is_unattended": False, "question": None},
        tells=["send AGENT_RESUMED", "emit AGENT_RESUMED"],
    ),
    Row("report_attended", assigns={"is_unattended": False, "question": None}),
    Row(
        "receive_message",
        {"nudges": 2, "continuations": 1, "turns": 7},
        {"content": "more"},
        assigns={"nudges": 0, "continuations": 0, "reason": None},
        appends=[user(words("more"))],
    ),
    Row(
        "receive_message",
        {"is_interactive": True, "turns": 7, "tool_steps": 0},
        {"content": "  "},
        assigns={"turns_from": 7},
        appends=[user(words(texts.RESUME))],
    ),
    Row(
        "receive_message",
        {"open_call": CLARIFY, "turn_results": [RESULT], "pending_calls": [NEXT]},
        {"content": "Tabs"},
        assigns=EMPTY,
        appends=[
            user(
                block("c0", "ok"),
                block("c4", "Tabs"),
                block("c2", "Not run: the message ended with 'clarify'.", is_error=True),
            )
        ],
    ),
    Row("approve_call", data={"scope": "always"}, assigns={"approval": "always"}),
    Row("approve_call", data={"scope": "forever"}, assigns={"approval": "once"}),
    Row("approve_call", assigns={"approval": "once"}),
    Row(
        "complete_run",
        {"pending_calls": [COMPLETE, NEXT], "turn_results": [RESULT]},
        assigns={"summary": "Done.", "pending_calls": [], "turn_results": []},
        appends=[
            user(
                block("c0", "ok"),
                block("c3", texts.COMPLETED),
                block("c2", "Not run: the message ended with 'complete'.", is_error=True),
            )
        ],
        tells=["emit AGENT_DONE"],
    ),
    *(
        Row(
            "reach_limit",
            {"continuations": 2, "open_call": OPEN},
            arguments={"reason": reason},
            assigns={"reason": reason, "summary": text, "question": {"kind": "pause", "text": text}, **EMPTY},
            appends=[user(block("c1", f"Not run: {text}", is_error=True))],
            tells=["log"],
        )
        for reason, text in (
            ("turns", "Stopped at the limit of 10 turns."),
            ("tool_steps", "Stopped at the limit of 100 tool calls."),
            ("max_tokens", "Stopped: the answer was cut off by its length 3 times."),
            ("context_window", "Stopped: the conversation no longer fits into the model's context window."),
        )
    ),
    Row(
        "cancel_run",
        {"open_call": OPEN, "pending_calls": [NEXT]},
        assigns={"tool_steps": 1, "summary": "Cancelled.", **EMPTY},
        appends=[
            (
                "tool_history",
                {
                    "call": CALL,
                    "result": {"call_id": "c1", "content": texts.CANCELLED_CALL, "is_error": True},
                    "is_broken": False,
                    "is_denied": False,
                    "exit_code": None,
                },
            ),
            user(
                block("c1", texts.CANCELLED_CALL, is_error=True),
                block("c2", texts.CANCELLED_CALL, is_error=True),
            ),
        ],
    ),
    Row(
        "cancel_run",
        {"open_call": CLARIFY},
        assigns=EMPTY,
        appends=[user(block("c4", texts.CANCELLED_CALL, is_error=True))],
    ),
    Row(
        "stop_turn",
        {"open_call": CLARIFY, "is_compacting": True, "touched": ["a"]},
        data={"who": "ada"},
        assigns={"summary": "Stopped by the user.", "is_compacting": False, "touched": None, **EMPTY},
        appends=[user(block("c4", texts.CANCELLED_CALL, is_error=True))],
        tells=["emit TURN_STOPPED"],
    ),
    Row(
        "pause_repeating",
        {
            "repeated": {"kind": "error", "call": "bash make", "times": 3, "tree": "t", "message": "boom"},
            "pending_calls": [NEXT],
            "turn_results": [RESULT],
        },
        assigns={
            "reason": "repetition",
            "question": {
                "kind": "pause",
                "text": "The agent is going in circles: 3 times the same error, last of bash make: boom",
            },
            **EMPTY,
        },
        appends=[user(block("c0", "ok"), block("c2", "Not run: the run was paused.", is_error=True))],
        tells=["emit AGENT_PAUSED"],
    ),
    Row(
        "follow_up",
        data={
            "run": "r1",
            "content": "next",
            "plan": None,
            "messages": [{"role": "assistant", "content": [USES]}],
        },
        assigns={"new_messages_from": 1, "plan": None},
        appends=[
            ("messages", {"role": "assistant", "content": [USES]}),
            user(block("c1", texts.CANCELLED_CALL, is_error=True), words("next")),
        ],
        tells=["emit RUN_CONTINUED"],
    ),
    Row(
        "run_out",
        data={"error": {"message": "The budget is used up: 9 of 9 tokens."}},
        assigns={
            "question": {"kind": "budget", "text": "The budget is used up: 9 of 9 tokens."},
            "is_unattended": True,
        },
        tells=["log", "emit OUT_OF_BUDGET", "send AGENT_WAITING", "emit AGENT_WAITING"],
    ),
    Row(
        "report_rate_wait",
        data={"what": "tool calls", "limit": "the rate limit is 1 tool calls a minute", "wait_ms": 1500},
        tells=["emit RATE_WAIT"],
    ),
    Row(
        "shorten_results",
        {"messages": [{"role": "assistant", "content": [USES]}] * 3, "turns": 3, "recent_calls": ["x"]},
        assigns={
            "recent_calls": [],
            "view": {"head": "", "kept_from": 0, "pointers_before": 1},
            "compactions": 1,
            "compactions_in_a_row": 1,
            "compacted_at": 3,
        },
        tells=["log", "emit CONVERSATION_COMPACTED"],
    ),
    Row(
        "begin_compaction",
        {"compactions": 4, "compactions_in_a_row": 1, "turns": 9},
        assigns={"is_compacting": True, "compactions": 5, "compactions_in_a_row": 2, "compacted_at": 9},
    ),
    Row(
        "take_summary",
        {"usage": USAGE, "is_compacting": True, "retries": 2, "view": {"pointers_before": 1}},
        {"output": {"head": "So far.", "kept_from": 2, "usage": USAGE}},
        assigns={
            "view": {"head": "So far.", "kept_from": 2, "pointers_before": 1},
            "is_compacting": False,
            "retries": 0,
            "usage": {name: 2 * count for name, count in USAGE.items()},
        },
        tells=["log", "emit CONVERSATION_COMPACTED"],
    ),
    Row(
        "resume_cut_off",
        {"turn_results": [RESULT]},
        assigns=EMPTY,
        appends=[user(block("c0", "ok"), words(texts.CUT_OFF_BY_WINDOW))],
    ),
    Row("log_capture_failure", data={"error": {"message": "full"}}, tells=["log"]),
    Row(
        "record_turn_error",
        {"usage": USAGE},
        {"error": ERROR},
        assigns={"usage": {name: 2 * count for name, count in USAGE.items()}},
    ),
    *(
        Row(action, fields, data, assigns={"summary": summary, **EMPTY}, tells=["log"])
        for action, fields, data, summary in (
            ("fail_turn", {}, {"error": ERROR}, "slow"),
            ("fail_refused", {}, {}, texts.REFUSED),
            ("fail_unrepaired", {"tool_history": [FAILED]}, {}, "The run ended with an error unrepaired: boom"),
            ("fail_repeating", {"tool_history": [FAILED]}, {}, "The call failed 3 times in the same way: boom"),
            ("fail_broken_tool", {"tool_history": [FAILED]}, {}, "The tool itself is broken: boom"),
            ("fail_workspace", {}, {"error": {"message": "full"}}, "The workspace could not be captured: full"),
            ("fail_gate", {}, {"error": {"message": "bad rule"}}, "bad rule"),
            (
                "fail_unattended",
                {"question": {"kind": "clarify", "text": "Tabs?"}},
                {"error": {"message": "nobody", "code": "unattended"}},
                "Nobody is there to answer, and the run is set not to wait: Tabs?",
            ),
        )
    ),
]

ACTIONS = actions.bindings | people.bindings | failing.bindings | compacting.bindings | budgets.bindings


def flat(updates: Updates) -> Iterator[Update]:
    if isinstance(updates, (tuple, list)):
        for update in updates:
            yield from flat(update)
    elif updates is not None:
        yield updates


def told(update: Update) -> str | None:
    match update:
        case Emit(event):
            return f"emit {event}"
        case Send(event, _, to):
            assert to == "parent"
            return f"send {event}"
        case Raise(event):
            return f"raise {event}"
        case Log():
            return "log"
    return None


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.action)
def test_action(row: Row) -> None:
    context = freeze(AgentLoopContext.model_validate(row.fields).to_json())
    event = make_event("E", freeze(row.data))
    event.at_ms = 1_700_000_000_000
    updates = list(flat(ACTIONS.get("action", row.action)(context, event, **row.arguments)))
    assigned: dict[str, Any] = {}
    for update in updates:
        assigned |= thaw(freeze(update.fields)) if isinstance(update, Assign) else {}
    assert {name: assigned[name] for name in row.assigns} == thaw(freeze(row.assigns))
    assert set(assigned) <= set(AgentLoopContext.model_fields)
    assert [(u.field, thaw(freeze(u.item))) for u in updates if isinstance(u, Append)] == row.appends
    assert [name for update in updates if (name := told(update))] == row.tells
    if row.action.startswith("fail_"):
        assert assigned["last_error"]["message"] == row.assigns["summary"]
        assert assigned["last_error"]["timestamp"] == "2023-11-14T22:13:20.000Z"


def test_every_action_has_a_row() -> None:
    assert {row.action for row in TABLE} == ACTIONS.names("action")

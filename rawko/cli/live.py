"""Live output of a run: states, agents, tool calls, text as it arrives, tokens and cost.

Reads the inspection stream, and nothing else.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any, TextIO

from rawko.cli.output import Painter, visible
from rawko.runtime.inspection import InspectionEvent
from rawko.vocabulary.usage import Usage

_SHOWN_INPUTS = ("command", "file_path", "path", "pattern", "summary", "question", "reason")
_WIDTH = 100


class LiveOutput:
    """Prints what happens, as it happens.

    Args:
        stream: Where to; standard error where standard output belongs to the JSON report.
        usage: Tokens and cost so far.
    """

    def __init__(self, stream: TextIO, usage: Callable[[], tuple[Usage, float | None]]) -> None:
        self._stream = stream
        self._usage = usage
        self._paint = Painter(stream)
        self._state = ""
        self._iteration = 0
        self._in_text = False

    def __call__(self, event: InspectionEvent) -> None:
        handler = _HANDLERS.get(event["type"])
        if handler is not None:
            handler(self, event)

    def end_line(self) -> None:
        """End the line of streamed text, if one is open."""
        if self._in_text:
            self._stream.write("\n")
            self._in_text = False

    def log(self, level: str, message: str, data: Mapping[str, Any]) -> None:
        """A log line of the machine; warnings and errors go to standard error (S3-050)."""
        self.end_line()
        if level in ("warning", "error", "critical"):
            style = "yellow" if level == "warning" else "red"
            self._stream.flush()
            print(Painter(sys.stderr)(visible(message), style), file=sys.stderr, flush=True)
        elif level != "debug":
            self._line(self._paint(visible(message), "dim"))

    def _line(self, text: str) -> None:
        self.end_line()
        print(text, file=self._stream, flush=True)

    # ------------------------------------------------------------ by type

    def _step(self, event: InspectionEvent) -> None:
        if event["actor"] == "root":
            self._machine_step(event)
        received = event["event"]
        if received is not None and received["name"] == "done.invoke.execute_tool":
            self._tool_result(received["data"]["output"])

    def _machine_step(self, event: InspectionEvent) -> None:
        for update in event["updates"]:
            self._iteration = update.get("assign", {}).get("iteration_count", self._iteration)
        state = event["configuration"][-1]
        if state == self._state:
            return
        self._state = state
        usage, cost = self._usage()
        parts = [f"{usage.total_tokens} tokens"]
        if self._iteration:
            parts.insert(0, f"iteration {self._iteration}")
        if cost is not None:
            parts.append(f"${cost:.4f}")
        self._line(f"{self._paint('●', 'cyan')} {self._paint(state, 'bold')}  {self._paint(' · '.join(parts), 'dim')}")

    def _emit(self, event: InspectionEvent) -> None:
        data = event["data"]
        match event["event"]:
            case "TEXT_DELTA":
                if not self._in_text:
                    self._stream.write("    ")
                self._in_text = True
                self._stream.write(visible(data["text"]).replace("\n", "\n    "))
                self._stream.flush()
            case "AGENT_TOOL_CALL" if event["actor"] != "root" or "tool_call" in data:
                if event["actor"].endswith("execute_agent") or (event["actor"] == "root" and self._is_alone(event)):
                    self._tool_call(data["tool_call"])
            case "AGENT_SELECTED":
                self._line(
                    f"  {self._paint('agent', 'dim')} {self._paint(visible(str(data['agent'])), 'bold', 'blue')}"
                )
            case "AGENT_RETRY":
                self._line(self._paint(f"  model call failed ({data['code']}), retry {data['retry']}", "yellow"))
            case "ARBITER_DECISION":
                self._decision(data["decision"])
            case "PLAN_UPDATED":
                self._plan(data["plan"])

    @staticmethod
    def _is_alone(event: InspectionEvent) -> bool:
        """Whether the root is an agent's own loop, which says whose call it is itself."""
        return "id" in event["data"]["tool_call"] and event["data"].get("agent") is not None

    def _tool_call(self, call: Mapping[str, Any]) -> None:
        given = call["input"]
        shown = next((str(given[key]) for key in _SHOWN_INPUTS if given.get(key)), "")
        text = shown or (json.dumps(given, ensure_ascii=False) if given else "")
        self._line(f"  {self._paint('▸', 'blue')} {call['name']} {self._paint(_short(text), 'dim')}")

    def _tool_result(self, output: Mapping[str, Any]) -> None:
        is_error = output["is_error"]
        mark = self._paint("✗", "red") if is_error else self._paint("✓", "green")
        lines = [line for line in str(output["content"]).splitlines() if line.strip()]
        code = output.get("exit_code")
        told = f"exit {code}: " if code else ""
        shown = (lines[-1] if is_error else lines[0]) if lines else ""
        self._line(f"    {mark} {self._paint(_short(told + shown), 'dim')}")

    def _decision(self, decision: Mapping[str, Any]) -> None:
        mode = f" {decision['mode']}" if decision.get("mode") else ""
        why = decision.get("reason") or decision.get("summary") or ""
        self._line(f"  {self._paint('arbiter', 'dim')} {decision['type']}{mode}  {self._paint(_short(why), 'dim')}")

    def _plan(self, plan: Mapping[str, Any]) -> None:
        done = sum(step["status"] in ("complete", "skipped") for step in plan["steps"])
        self._line(f"  {self._paint('plan', 'dim')} {done} of {len(plan['steps'])} steps done")

    def _crashed(self, event: InspectionEvent) -> None:
        self._line(self._paint(f"{event['actor']} crashed: {visible(event['error'])}", "red"))


def _short(text: str) -> str:
    line = visible(" ".join(text.split()))
    return line if len(line) <= _WIDTH else line[: _WIDTH - 1] + "…"


_HANDLERS: Mapping[str, Callable[[LiveOutput, InspectionEvent], None]] = {
    "step": LiveOutput._step,
    "emit": LiveOutput._emit,
    "crashed": LiveOutput._crashed,
}

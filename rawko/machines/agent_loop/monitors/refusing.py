"""Refuses a tool call that a monitor objects to, by replacing the event that would start it; the run continues.

    the gate allows the call      its verdict becomes a denial by the rule "monitor NAME"
    a person approves the call    the approval becomes a DENY

The model reads the monitor's reason. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping

from rawko.interpreter.data.events import Event, InvocationEvent, invocation_event, make_event
from rawko.interpreter.data.freezing import freeze_fields
from rawko.interpreter.data.values import thaw

_CHECKED = "done.invoke.check_gate"


def refusal(event: Event, monitor: str, reason: str) -> Event | None:
    """The event that replaces one that would start a tool call; None for every other event."""
    if event.name == "APPROVE":
        return make_event("DENY", {"reason": f"monitor {monitor}: {reason}", "who": f"monitor {monitor}"})
    output = event.data.get("output")
    if event.name != _CHECKED or not isinstance(event, InvocationEvent) or not isinstance(output, Mapping):
        return None
    if output.get("decision") != "allow":
        return None
    said = {**thaw(output), "decision": "deny", "rule": f"monitor {monitor}", "reason": reason}
    data = freeze_fields({"output": said}, event.name)
    return invocation_event(event.name, data, event.id, event.number, is_end=event.is_end)

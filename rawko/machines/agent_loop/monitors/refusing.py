"""What an agent's machine does instead of a call that a monitor objects to: the call is refused, with the reason.

    the gate allows the call      it denies it, by the rule "monitor NAME"
    a person approves the call    the call is denied all the same

The model reads the reason, and the run goes on. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping

from rawko.interpreter.data.events import Event, InvocationEvent, invocation_event, make_event
from rawko.interpreter.data.freezing import freeze_fields
from rawko.interpreter.data.values import thaw

_CHECKED = "done.invoke.check_gate"


def refusal(event: Event, monitor: str, reason: str) -> Event | None:
    """The event to take in the place of one by which a call would begin; None of any other."""
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

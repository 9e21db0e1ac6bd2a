"""The keys of the view, with their actions and help texts."""

from __future__ import annotations

from typing import Final

VIEWS: Final = ("machine", "steps", "talk", "files", "plan", "used")
TITLES: Final = {
    "machine": "Machine",
    "steps": "Steps",
    "talk": "Conversation",
    "files": "Files",
    "plan": "Plan",
    "used": "Cost",
}
DECISIONS: Final = {
    "a": ("answer", "answer the question that is shown, or allow or refuse its tool call, with the diff"),
    "d": ("deny", "deny the tool call that is shown, with a reason"),
    "x": ("cancel", "cancel the run"),
    "g": ("force", "give the work to another agent"),
    "s": ("skip", "skip the plan's step"),
    "t": ("tell", "tell the arbiter something"),
    "y": ("retry", "retry now, without waiting any longer"),
    "c": ("resume", "continue a run that was interrupted or set back"),
    "r": ("rewind", "rewind the run to the step under the cursor"),
    "f": ("fork", "fork a separate run from that step"),
    "p": ("pin", "pin that step: show it as a scenario of a contract, and write it into a file"),
}
HELP: Final = (
    ("1 … 6", "machine, steps, conversation, files, plan, cost"),
    ("Tab", "the next list"),
    ("↑ ↓", "move; Page Up, Page Down, Home, End too"),
    ("[ ]", "one step back or on: all lists show what was then; so they do for the step under the cursor in the steps"),
    ("Escape", "back to now"),
    (
        "Enter",
        "unfold: why a step went its way, a tool call with its result, a file's diff, a state's transitions",
    ),
    *((key, told) for key, (_, told) in DECISIONS.items()),
    ("l", "show or hide what the machines tell each other"),
    ("?", "these keys"),
    ("q", "leave; a run of another process goes on"),
    ("Ctrl-C", "cancel a run that works in this window; else leave"),
    ("Ctrl-Z", "stop the view, and a run that works in this window, until `fg`"),
)
FOOT: Final = (
    ("?", "keys"),
    ("q", "leave"),
    ("Enter", "unfold"),
    ("[ ]", "back, on"),
    ("x", "cancel"),
    ("r", "rewind"),
    ("f", "fork"),
    ("p", "pin"),
    ("g", "give"),
    ("s", "skip"),
)

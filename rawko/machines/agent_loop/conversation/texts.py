"""All texts of the machine itself, to the model and about a run. Prompts that people may edit are in `prompts/`."""

from __future__ import annotations

NUDGE = (
    "You stopped without calling a tool. A run never ends silently: go on with the task, or call 'complete' with a "
    "summary if it is done, 'clarify' with a question for the user, or 'pause' with the reason if you are stuck."
)
CUT_OFF = (
    "Your last message was cut off by the limit on its length. Go on from where it stopped, in smaller pieces: "
    "write long files in several calls."
)
CUT_OFF_BY_WINDOW = (
    "Your last message was cut off, because the conversation had become too long. Older parts of it have been "
    "shortened; go on from where your message stopped."
)
POINTER = (
    "{begin}... [{chars} characters in all; left out to save room. The tool output with the id {id} gives them all, or "
    "make the call again.]"
)
TRUNCATED_CALL = "Not run: the call was cut off by the limit on the length of a message, so its input is incomplete."
COMPLETED = "Completed."
PLAN_UPDATED = "Plan updated: {finished} of {total} steps finished, {position}."
RESUME = "Continue."
NOT_ALLOWED = "The tool {tool!r} is not available to this agent."
LOOK_FIRST = (
    "Not completed: an earlier call of the same message failed. Look at its result; call 'complete' again if the "
    "task is done all the same."
)
EVIDENCE_MISSING = (
    "Not completed: the task is done only when this can be shown, and it was looked for just now:\n{missing}\n"
    "Go on with the task; call 'complete' again when it holds."
)
DENIED_BY_RULE = "Denied by the rule {rule!r}; the call was not run. {reason}"
DENIED_BY_PERSON = "The user denied this call; it was not run. {reason}"
CANCELLED_CALL = "Cancelled: the run was stopped before this call was finished."
NOT_RUN = "Not run: {why}."

SILENT_STOP = "The agent stopped without saying whether the task is done."
REFUSED = "The model refused to answer."
LIMITS: dict[str, str] = {
    "turns": "Stopped at the limit of {limit} turns.",
    "tool_steps": "Stopped at the limit of {limit} tool calls.",
    "tokens": "Stopped at the limit of {limit:,} tokens.",
    "cost": "Stopped at the limit of ${limit:g}.",
    "max_tokens": "Stopped: the answer was cut off by its length {limit} times.",
    "evidence": "Stopped: 'complete' was called {limit} times without the evidence that is demanded.",
    "context_window": "Stopped: the conversation no longer fits into the model's context window.",
}
REPEATED_CALL = "The agent is going in circles: {times} times {call}, and the files were the same each time."
REPEATED_ERROR = "The agent is going in circles: {times} times the same error, last of {call}: {message}"
UNATTENDED = "Nobody is there to answer, and the run is set not to wait: {question}"
UNREPAIRED = "The run ended with an error unrepaired: {message}"
REPEATED = "The call failed {times} times in the same way: {message}"
BROKEN = "The tool itself is broken: {message}"
WORKSPACE = "The workspace could not be captured: {message}"
CANCELLED = "Cancelled."
STOPPED = "Stopped by the user."
APPROVAL = "May the agent {agent!r} run {call}?"

"""The five nodes of an exploration: LaunchOrAttach, Perceive, WaitIdle, SwitchPolicy, Stop (NE-013, C-65).

launch_or_attach -> perceive -> wait_idle -> switch_policy -> perceive ... -> stop. A failed launch is retried; a dead
end leads back to a new launch, which repeats the decisions before the last one and leaves that one out.

The nodes' data is small (see `Memory`), so that journal rows do not grow with the run; screens and decisions are
events, and the trail of decisions is built from those.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rawko.machines.node_engine.explore import trail as told
from rawko.machines.node_engine.explore.deciding import ADVICE_RETRIES, DecisionAttempt, Memory, screen_event, view_of
from rawko.machines.node_engine.explore.decision import Decision
from rawko.machines.node_engine.explore.policy import ExplorePolicy
from rawko.machines.node_engine.explore.ports import ADVISOR, PATTERNS, TERMINAL, TRAIL, Terminal, TerminalError
from rawko.machines.node_engine.nodes import NodeCall, NodeOutcome, NodeRegistry, failed, succeeded
from rawko.machines.node_engine.policies import NodePolicy, Policies, RetryPolicy

LAUNCH: Final = "launch_or_attach"
PERCEIVE: Final = "perceive"
WAIT_IDLE: Final = "wait_idle"
SWITCH_POLICY: Final = "switch_policy"
STOP: Final = "stop"

explore_nodes = NodeRegistry()


def policies_of(policy: ExplorePolicy) -> Policies:
    """Retry, backtrack and transition of the five nodes."""
    launch = policy.launch
    cap = max(launch.backoff_ms, 10_000)
    return Policies(
        default=NodePolicy(),
        nodes={
            LAUNCH: NodePolicy(
                retry=RetryPolicy(max_retries=launch.retries, base_ms=launch.backoff_ms, cap_ms=cap),
                on_success=PERCEIVE,
            ),
            PERCEIVE: NodePolicy(on_success=WAIT_IDLE),
            WAIT_IDLE: NodePolicy(on_success=SWITCH_POLICY, timeout_ms=2 * policy.cap_ms + 60_000),
            SWITCH_POLICY: NodePolicy(
                retry=RetryPolicy(max_retries=ADVICE_RETRIES), can_backtrack=True, backtrack_to=LAUNCH
            ),
            STOP: NodePolicy(),
        },
        max_backtracks=policy.max_backtracks,
    )


def policy_in(ctx: Mapping[str, Any]) -> ExplorePolicy:
    """The policy of a run, from its `ctx`."""
    return ExplorePolicy.model_validate(ctx["policy"])


# ---------------------------------------------------------------- the nodes


@explore_nodes.node(LAUNCH, ports=[TERMINAL, TRAIL])
async def launch_or_attach(call: NodeCall) -> NodeOutcome:
    """Attach to the running program, or launch a new one and repeat the recorded decisions in it."""
    terminal, memory, policy = call.port(TERMINAL), Memory.of(call), policy_in(call.ctx)
    if terminal.is_open and not memory.is_lost:
        return succeeded(events=[{"type": told.ATTACHED}])
    try:
        pid = await terminal.launch()
    except TerminalError as error:
        return failed(str(error), category="tool_failure", is_retryable=error.is_retryable)
    problem = await _until_ready(terminal, policy)
    if problem is not None:
        await terminal.close()
        return failed(problem, events=[{"type": told.LAUNCH_FAILED, "pid": pid, "message": problem}])
    replayed, is_diverged = await _replay(call, terminal, policy)
    launched = {"type": told.LAUNCHED, "pid": pid, "replayed": replayed, "is_diverged": is_diverged}
    launch = memory.changed(launches=memory.launches + 1, is_lost=False, unchanged=0, decided_on="")
    return succeeded(data=launch, events=[launched])


async def _until_ready(terminal: Terminal, policy: ExplorePolicy) -> str | None:
    """Why the program is not ready, in words; None where it is. A program that has ended with status 0 counts as
    ready."""
    launch = policy.launch
    is_shown = await terminal.until_shown(launch.expect, launch.within_ms if launch.expect else launch.silent_ms)
    if not launch.expect:  # it has shown something, but may still exit with an error
        await terminal.until_quiet(policy.quiet_ms, policy.cap_ms)
    status = terminal.exit_status
    if status:
        last = next((line for line in reversed(terminal.screen().lines) if line.strip()), "")
        return f"the program ended with status {status} before it was ready{': ' if last else ''}{last.strip()}"
    if launch.expect and not is_shown:
        return f"{launch.expect!r} was not shown within {launch.within_ms} ms"
    return None


async def _replay(call: NodeCall, terminal: Terminal, policy: ExplorePolicy) -> tuple[int, bool]:
    """Repeat the recorded decisions, as long as each finds the screen that it was made at.

    Returns:
        How many were repeated, and whether it stopped early because the program shows something else now.
    """
    if policy.on_relaunch == "restart":
        return 0, False
    recorded = call.port(TRAIL).decisions()
    for number, event in enumerate(recorded):
        await terminal.until_quiet(policy.quiet_ms, policy.cap_ms)
        if terminal.exit_status is not None or terminal.screen().hash != event["hash"]:
            return number, True
        decision = Decision.model_validate(event["decision"])
        try:
            await terminal.send(decision.text, decision.keys, paste=decision.paste, env=decision.env)
        except TerminalError:
            return number, True
    return len(recorded), False


@explore_nodes.node(PERCEIVE, ports=[TERMINAL])
async def perceive(call: NodeCall) -> NodeOutcome:
    """Record the screen as text, its hash, and the lines that changed."""
    return _recorded(call) or _gone()


@explore_nodes.node(WAIT_IDLE, ports=[TERMINAL])
async def wait_idle(call: NodeCall) -> NodeOutcome:
    """Wait until the program has written nothing for `quiet_ms`, at most `cap_ms`; then record the screen."""
    terminal, policy = call.port(TERMINAL), policy_in(call.ctx)
    if not terminal.is_open:
        return _gone()
    if Memory.of(call).is_waiting:
        await terminal.until_written(policy.cap_ms)
    is_quiet = await terminal.until_quiet(policy.quiet_ms, policy.cap_ms)
    settled = {"type": told.SETTLED, "is_quiet": is_quiet}
    return _recorded(call, settled) or _gone()


def _recorded(call: NodeCall, *more: Mapping[str, Any]) -> NodeOutcome | None:
    """Record the screen if it changed since the last record; None where the terminal is closed."""
    terminal, memory = call.port(TERMINAL), Memory.of(call)
    if not terminal.is_open:
        return None
    view = view_of(terminal, memory)
    event = screen_event(view, memory)
    if event is None:
        return succeeded(events=list(more))
    return succeeded(data=memory.seen(view), events=[*more, event])


def _gone() -> NodeOutcome:
    """Lead back to the launch: the run was resumed in another process, without the earlier terminal and its program."""
    return succeeded(LAUNCH, events=[{"type": told.PROGRAM_GONE}])


@explore_nodes.node(SWITCH_POLICY, ports=[TERMINAL, ADVISOR, TRAIL, PATTERNS])
async def switch_policy(call: NodeCall) -> NodeOutcome:
    """Decide about the screen by rule or model, and carry the decision out."""
    if not call.port(TERMINAL).is_open:
        return _gone()
    return await DecisionAttempt(call, policy_in(call.ctx), on_keys=PERCEIVE, on_wait=WAIT_IDLE, on_stop=STOP).outcome()


@explore_nodes.node(STOP, ports=[TERMINAL])
async def stop(call: NodeCall) -> NodeOutcome:
    """End the program, whether or not it still runs."""
    terminal = call.port(TERMINAL)
    was_running = terminal.is_open and terminal.exit_status is None
    status = await terminal.close()
    return succeeded(events=[{"type": told.STOPPED, "exit_status": status, "was_running": was_running}])

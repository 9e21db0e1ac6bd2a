"""The built-in properties, and the verdict on each: proved, refuted or undetermined.

A verdict is about the chart without its data: a guard may be true or false, whatever its function computes. A state
that is never reached here is therefore never reached by the real machine; a path that is shown here is possible only if
the guards answer as it says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from rawko.proving.contracts import contracts, has_contracts
from rawko.proving.exploring.compiled import ASKED, CANCEL, CANCELS, PERSON, STILL, TAKEN, Label, is_no_persons
from rawko.proving.exploring.exploration import Exploration
from rawko.proving.findings import Finding, Verdict, accepted_by, all_of, listed, plural, problem_of, refuted
from rawko.proving.graph.graphs import Graph, leading_to_cycles, reached_from, shortest_cycle, successors
from rawko.proving.graph.termination import Step, endless_cycle
from rawko.proving.monitoring.monitor import MonitorStep
from rawko.proving.monitoring.product import check_monitor
from rawko.proving.outcomes import CYCLE, UNHANDLED, Outcome
from rawko.proving.responses import leads_to
from rawko.proving.system import ControlSystem, Move


def reachable(found: Exploration) -> Finding:
    """Every state and transition is reached."""
    return reached((found,))


def reached(parts: Sequence[Exploration]) -> Finding:
    """The verdict on `reachable`, from one or more explorations of the same system."""
    system = parts[0].system
    structure, taken = system.step.structure, system.step.taken
    active = set().union(*(one.compiled.packing.seen_active() for one in parts))
    # A state that is exited in the macrostep that enters it is in no configuration: a taken transition shows that it is
    # reached.
    active |= {structure.source[t] for t in taken}
    active |= {a for t in taken for target in structure.targets[t] for a in (target, *structure.ancestors[target])}
    never = [n for i, n in enumerate(structure.names) if i not in active and not structure.is_history[i]]
    untaken = [t for t in structure.transitions if t.index not in taken]
    if not never and not untaken:
        states, transitions = len(structure.names), len(structure.transitions)
        counts = f"{states} state{plural(states)} and {transitions} transition{plural(transitions)} are reached"
        return Finding("reachable", Verdict.PROVED, counts)
    texts = [f"state {name!r}" for name in never]
    texts += [f"transition of {t.source!r} ({', '.join(t.events) or 'always'}) at {t.position}" for t in untaken]
    verdict = Verdict.REFUTED if all(one.is_complete for one in parts) else Verdict.UNDETERMINED
    places = tuple(structure.states[structure.index[name]].position for name in never)
    places += tuple(t.position for t in untaken)
    return Finding("reachable", verdict, f"never reached: {listed(texts)}", places=places)


def end(found: Exploration) -> Finding:
    """From every configuration an end can be reached."""
    structure = found.system.step.structure
    ends = _ends(found)
    if not any(final and structure.parent[i] == 0 for i, final in enumerate(structure.is_final)) and not ends:
        return Finding("end", Verdict.VOID, "the chart has no end")
    if not found.is_complete:
        return Finding("end", Verdict.UNDETERMINED, "not all states were explored")
    lost = reached_from(found.graph().reversed(), ends).find(0)
    if lost < 0:
        return Finding("end", Verdict.PROVED, f"an end can be reached from {all_of(len(found))}")
    return refuted(found, "end", "no end can be reached from here", lost)


def stuck(found: Exploration) -> Finding:
    """In every configuration but the ends something can happen."""
    if (endless := endless_macrostep(found)) is not None:
        return endless
    for number in idle_states(found):
        return refuted(found, "stuck", "nothing can happen here any more, and it is no end", number)
    if not found.is_complete:
        return Finding("stuck", Verdict.UNDETERMINED, "not all states were explored")
    return Finding("stuck", Verdict.PROVED, NOTHING_STUCK)


def endless_macrostep(found: Exploration, name: str = "stuck") -> Finding | None:
    """The first macrostep that never ends, as a finding that refutes the property."""
    for source, move, outcome in found.problems:
        if outcome.problem == CYCLE:
            text = f"{move}: a macrostep begins that never ends (an eventless cycle)"
            return problem_of(found, name, text, source, move, outcome)
    return None


def idle_states(found: Exploration) -> Iterator[int]:
    """Numbers of states in which nothing can happen, without ends and states with failing macrosteps; nearest first."""
    failing = {source for source, _, _ in found.problems}
    offsets, targets, labels = found.offsets, found.targets, found.labels
    moves = [bool(label.flags & TAKEN) for label in found.kinds]
    for number in range(found.expanded):
        for edge in range(offsets[number], offsets[number + 1]):
            if moves[labels[edge]] or targets[edge] != number:
                break
        else:
            if number not in failing and not found.is_done(number):
                yield number


def cycles(found: Exploration) -> Finding:
    """Every cycle passes a budget guard or an event of a person."""
    sure = [one for one in (endless_macrostep(found, "cycles"), _free_cycle(found)) if one is not None]
    if sure:
        return min(sure, key=lambda one: (len(one.way), len(one.turns)))
    if not found.is_complete:
        return Finding("cycles", Verdict.UNDETERMINED, "not all states were explored")
    endless = _endless_round(found)
    if endless is not None:
        source, move, outcome = endless
        names = sorted({name for name, _ in outcome.answers})
        text = f"{move}: a round of eventless transitions begins that no known budget ends; it asks {listed(names)}"
        shown = problem_of(found, "cycles", text, source, move, outcome)
        return Finding("cycles", Verdict.UNDETERMINED, text, shown.way, shown.end)
    cycle = _endless_cycle(found)
    if cycle is None:
        return Finding("cycles", Verdict.PROVED, "every cycle passes a budget guard or an event of a person")
    names = sorted(_asked_along(found, cycle))
    text = (
        "a cycle asks guards, and no known budget ends it; name the guards that do under `budget_guards` "
        f"of the bounds file: {listed(names)}"
    )
    shown = refuted(found, "cycles", text, cycle[0], cycle, is_no_persons)
    return replace(shown, verdict=Verdict.UNDETERMINED)


def _free_cycle(found: Exploration) -> Finding | None:
    cycle = _first_cycle(found.graph(_is_free, no_loops_of=STILL))
    if cycle is None:
        return None
    return refuted(found, "cycles", "a cycle without any guard or event of a person", cycle[0], cycle, _is_free)


def _is_free(label: Label) -> bool:
    return not label.flags & (PERSON | ASKED)


def _endless_cycle(found: Exploration) -> list[int] | None:
    alive = leading_to_cycles(found.graph(is_no_persons, no_loops_of=STILL))
    if not any(alive):
        return None
    free = [
        Step(source, target, label.spending)
        for source, target, label in found.edges()
        if alive[source]
        and alive[target]
        and not label.flags & PERSON
        and not (source == target and label.flags & STILL)
    ]
    return endless_cycle(len(found), free)


def _endless_round(found: Exploration) -> tuple[int, Move, Outcome] | None:
    """An eventless round that no budget ends.

    Rounds of one macrostep may follow each other, so they are treated as loops at one place.
    """
    together: dict[tuple[int, Move], list[Outcome]] = {}
    for source, move, outcome in found.rounds:
        together.setdefault((source, move), []).append(outcome)
    for (source, move), outcomes in together.items():
        loops = [Step(0, 0, spending) for spending in sorted({outcome.spending for outcome in outcomes})]
        if endless_cycle(1, loops) is not None:
            return source, move, next((one for one in outcomes if not one.spending.ends), outcomes[0])
    return None


def errors(found: Exploration) -> Finding:
    """Every invocation's error and timeout is handled."""
    for source, move, outcome in found.problems:
        if outcome.problem == UNHANDLED:
            return problem_of(found, "errors", f"{move}, and no transition takes it", source, move, outcome)
    if not found.system.step.invocations:
        return Finding("errors", Verdict.VOID, "the chart invokes no actor")
    if not found.is_complete:
        return Finding("errors", Verdict.UNDETERMINED, "not all states were explored")
    count = len(found.system.step.invocations)
    invocations = f"{count} invocation{plural(count)}"
    runs = "they run" if count != 1 else "it runs"
    return Finding("errors", Verdict.PROVED, f"errors and timeouts of {invocations} are handled wherever {runs}")


def cancel(found: Exploration) -> Finding:
    """From every configuration CANCEL leads to an end, without a further event of a person."""
    if CANCEL not in found.system.events:
        return Finding("cancel", Verdict.VOID, "the chart names no event CANCEL")
    if not found.is_complete:
        return Finding("cancel", Verdict.UNDETERMINED, "not all states were explored")
    count = len(found)
    alone = found.graph(is_no_persons)
    cancels = found.graph(lambda label: bool(label.flags & CANCELS))
    deaf = (n for n in range(count) if cancels.offsets[n] == cancels.offsets[n + 1])
    after = reached_from(alone, {*cancels.targets, *deaf})
    alive = reached_from(alone.reversed(), _ends(found))
    for number in range(count):
        if after[number] and not alive[number]:
            return refuted(
                found, "cancel", "after CANCEL the machine can come here, and to no end without a person", number
            )
    return Finding("cancel", Verdict.PROVED, f"CANCEL leads to an end from {all_of(count)}")


NOTHING_STUCK: Final = "something can happen in every configuration that is no end"

PROPERTIES: Final[dict[str, Callable[[Exploration], Finding]]] = {
    "reachable": reachable,
    "end": end,
    "stuck": stuck,
    "cycles": cycles,
    "errors": errors,
    "cancel": cancel,
    "leads_to": leads_to,
    "contracts": contracts,
}


__all__ = ["PROPERTIES", "Finding", "Verdict", "check_properties"]


def check_properties(
    found: Exploration, names: Iterable[str] = (), monitors: Iterable[MonitorStep] = ()
) -> list[Finding]:
    """Verdicts on the named properties, or on all by default, and on monitors; accepted ones are marked."""
    findings = [PROPERTIES[name](found) for name in tuple(names) or asked_by_default(found.system)]
    findings += [check_monitor(found, monitor) for monitor in monitors]
    return [accepted_by(found.system.bounds, finding) for finding in findings]


def asked_by_default(system: ControlSystem) -> tuple[str, ...]:
    """The properties that apply to the chart and its bounds."""
    spoken_of = {"leads_to": bool(system.bounds.leads_to), "contracts": has_contracts(system.source)}
    return tuple(name for name in PROPERTIES if spoken_of.get(name, True))


def _ends(found: Exploration) -> list[int]:
    return [number for number in range(len(found)) if found.is_done(number)]


def _first_cycle(graph: Graph) -> list[int] | None:
    """A shortest cycle through the first state, in the order of the exploration, that is on a cycle."""
    if not graph.targets:
        return None
    alive = leading_to_cycles(graph)
    if not any(alive):
        return None
    offsets, targets = graph.offsets, graph.targets
    edges = [(n, t) for n in range(len(graph)) if alive[n] for t in targets[offsets[n] : offsets[n + 1]] if alive[t]]
    forward = successors(len(graph), edges)
    for number in range(len(graph)):
        if forward[number] and (cycle := shortest_cycle(forward, number)) is not None:
            return cycle
    return None


def _asked_along(found: Exploration, cycle: list[int]) -> set[str]:
    following = [*cycle[1:], *cycle[:1]]
    labels = [one for pair in zip(cycle, following, strict=True) for one in found.labels_between(*pair)]
    return {name for label in labels if is_no_persons(label) for name, _ in label.outcome.answers}

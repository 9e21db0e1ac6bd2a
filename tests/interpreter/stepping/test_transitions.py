"""Which transitions are taken, what they leave and enter, and in which order (SEMANTICS: selection to entries)."""

from __future__ import annotations

import pytest

from rawko.chart import ChartDefinitionError
from rawko.interpreter import Bindings, Interpreter, Receipt
from tests.interpreter.tables import Case, Log, chart_of, leaves, machine


def yes(context: object, event: object) -> bool:
    return True


def no(context: object, event: object) -> bool:
    return False


GUARDS = {"yes": yes, "no": no}

SELECTION = [
    Case(
        "an ancestor is asked where no active descendant fired",
        """
name: r
initial: p
transitions: [{event: E, target: x}]
states:
- name: p
  initial: a
  transitions: [{event: E, target: b}]
  states:
  - {name: a, transitions: [{event: F, target: b}]}
  - {name: b, transitions: [{event: E, guard: no, target: a}]}
- {name: x}
""",
        "+r +p +a",
        (("E", "-a -p >p +p +b", "b"), ("E", "-b -p >p +p +b", "b"), ("F", "", "b")),
        GUARDS,
    ),
    Case(
        "an ancestor is not asked if one region fired",
        """
name: r
initial: p
states:
- name: p
  transitions: [{event: E, target: x}]
  parallel states:
  - name: a
    initial: a1
    states: [{name: a1, transitions: [{event: E, target: a2}]}, {name: a2}]
  - name: b
    initial: b1
    states: [{name: b1}, {name: b2}]
- {name: x}
""",
        "+r +p +a +a1 +b +b1",
        (("E", "-a1 >a1 +a2", "a2 b1"), ("E", "-b1 -b -a2 -a -p >p +x", "x")),
        GUARDS,
    ),
    Case(
        "in a state the first true one wins, in document order",
        """
name: r
initial: a
states:
- name: a
  transitions:
  - {event: E, guard: no, target: b}
  - {event: E, guard: yes, target: c}
  - {event: E, target: d}
- {name: b}
- {name: c, transitions: [{event: E, target: d}, {event: E, target: a}]}
- {name: d}
""",
        "+r +a",
        (("E", "-a >a +c", "c"), ("E", "-c >c +d", "d")),
        GUARDS,
    ),
    Case(
        "higher priority is asked first",
        """
name: r
initial: a
states:
- name: a
  transitions:
  - {event: E, target: b, priority: low}
  - {event: E, target: c}
  - {event: E, target: d, priority: high}
  - {event: E, target: e, priority: high}
- {name: b}
- {name: c}
- {name: d}
- {name: e}
""",
        "+r +a",
        (("E", "-a >a +d", "d"),),
    ),
    Case(
        "an inner state goes before an outer one of higher priority",
        """
name: r
initial: p
states:
- name: p
  initial: a
  transitions: [{event: E, target: x, priority: 9}]
  states: [{name: a, transitions: [{event: E, target: b}]}, {name: b}]
- {name: x}
""",
        "+r +p +a",
        (("E", "-a >a +b", "b"), ("E", "-b -p >p +x", "x")),
    ),
    Case(
        "regions fire together: all exits, then all actions, then all entries",
        """
name: p
parallel states:
- name: a
  initial: a1
  states: [{name: a1, transitions: [{event: E, target: a2}]}, {name: a2}]
- name: b
  initial: b1
  states: [{name: b1, transitions: [{event: E, target: b2}]}, {name: b2}]
""",
        "+p +a +a1 +b +b1",
        (("E", "-b1 -a1 >a1 >b1 +a2 +b2", "a2 b2"),),
    ),
    Case(
        "siblings go in document order, whatever their names",
        """
name: p
parallel states:
- name: z
  initial: z1
  states: [{name: z1, transitions: [{event: E, target: z2}]}, {name: z2}]
- name: a
  initial: a1
  states: [{name: a1, transitions: [{event: E, target: a2}]}, {name: a2}]
""",
        "+p +z +z1 +a +a1",
        (("E", "-a1 -z1 >z1 >a1 +z2 +a2", "z2 a2"),),
    ),
    Case(
        "of two that would leave the same state, the earlier in document order wins",
        """
name: r
initial: p
states:
- name: p
  parallel states:
  - name: a
    initial: a1
    states: [{name: a1, transitions: [{event: E, target: x}]}]
  - name: b
    initial: b1
    states: [{name: b1, transitions: [{event: E, target: y}]}]
- {name: x}
- {name: y}
""",
        "+r +p +a +a1 +b +b1",
        (("E", "-b1 -b -a1 -a -p >a1 +x", "x"),),
    ),
    Case(
        "one that stays inside its region loses against an earlier one that leaves all",
        """
name: r
initial: p
states:
- name: p
  parallel states:
  - name: a
    initial: a1
    states: [{name: a1, transitions: [{event: E, target: x}]}]
  - name: b
    initial: b1
    states: [{name: b1, transitions: [{event: E, target: b2}]}, {name: b2}]
- {name: x}
""",
        "+r +p +a +a1 +b +b1",
        (("E", "-b1 -b -a1 -a -p >a1 +x", "x"),),
    ),
    Case(
        "a later one that leaves all is dropped for an earlier one inside a region",
        """
name: r
initial: p
states:
- name: p
  parallel states:
  - name: a
    initial: a1
    states: [{name: a1, transitions: [{event: E, target: a2}]}, {name: a2}]
  - name: b
    initial: b1
    states: [{name: b1, transitions: [{event: E, target: x}]}]
- {name: x}
""",
        "+r +p +a +a1 +b +b1",
        (("E", "-a1 >a1 +a2", "a2 b1"), ("E", "-b1 -b -a2 -a -p >b1 +x", "x")),
    ),
    Case(
        "an internal one deep in a region does not conflict with its neighbour",
        """
name: p
parallel states:
- name: a
  initial: a1
  states: [{name: a1, transitions: [{event: E}]}]
- name: b
  initial: b1
  states: [{name: b1, transitions: [{event: E, target: b2}]}, {name: b2}]
""",
        "+p +a +a1 +b +b1",
        (("E", "-b1 >a1 >b1 +b2", "a1 b2"),),
    ),
]

DOMAINS = [
    Case(
        "a self-transition leaves and enters its state",
        "name: r\ninitial: a\nstates: [{name: a, transitions: [{event: E, target: a}]}]",
        "+r +a",
        (("E", "-a >a +a", "a"),),
    ),
    Case(
        "a self-transition of a region resets its siblings: the parallel state is the domain",
        """
name: p
parallel states:
- name: a
  initial: a1
  transitions: [{event: E, target: a}]
  states: [{name: a1, transitions: [{event: F, target: a2}]}, {name: a2}]
- name: b
  initial: b1
  states: [{name: b1, transitions: [{event: F, target: b2}]}, {name: b2}]
""",
        "+p +a +a1 +b +b1",
        (("F", "-b1 -a1 >a1 >b1 +a2 +b2", "a2 b2"), ("E", "-b2 -b -a2 -a >a +a +a1 +b +b1", "a1 b1")),
    ),
    Case(
        "from one region to another: the parallel state stays, both regions are entered anew",
        """
name: p
parallel states:
- name: a
  initial: a1
  states: [{name: a1, transitions: [{event: E, target: b2}]}, {name: a2}]
- name: b
  initial: b1
  states: [{name: b1}, {name: b2}]
""",
        "+p +a +a1 +b +b1",
        (("E", "-b1 -b -a1 -a >a1 +a +a1 +b +b2", "a1 b2"),),
    ),
    Case(
        "into one region from outside: its siblings are entered by default",
        """
name: r
initial: x
states:
- {name: x, transitions: [{event: E, target: b2}]}
- name: p
  parallel states:
  - name: a
    initial: a1
    states: [{name: a1}, {name: a2}]
  - name: b
    initial: b1
    states: [{name: b1}, {name: b2}]
""",
        "+r +x",
        (("E", "-x >x +p +a +a1 +b +b2", "a1 b2"),),
    ),
    Case(
        "several targets, one per region",
        """
name: r
initial: x
states:
- {name: x, transitions: [{event: E, target: [c2, a2]}]}
- name: p
  parallel states:
  - {name: a, initial: a1, states: [{name: a1}, {name: a2}]}
  - {name: b, initial: b1, states: [{name: b1}, {name: b2}]}
  - {name: c, initial: c1, states: [{name: c1}, {name: c2, transitions: [{event: E, target: x}]}]}
""",
        "+r +x",
        (("E", "-x >x +p +a +a2 +b +b1 +c +c2", "a2 b1 c2"), ("E", "-c2 -c -b1 -b -a2 -a -p >c2 +x", "x")),
    ),
    Case(
        "several histories at once, each with a record of its own",
        """
name: r
initial: x
states:
- {name: x, transitions: [{event: E, target: [ha, hb, hc]}]}
- name: p
  parallel states:
  - {name: a, initial: a1, states: [{name: ha, type: shallow history, memory: a1},
     {name: a1, transitions: [{event: A, target: a2}]}, {name: a2, transitions: [{event: A, target: a1}]}]}
  - {name: b, initial: b1, states: [{name: hb, type: shallow history, memory: b1},
     {name: b1, transitions: [{event: B, target: b2}]}, {name: b2}]}
  - {name: c, initial: c1, states: [{name: hc, type: shallow history, memory: c1},
     {name: c1, transitions: [{event: C, target: c2}]}, {name: c2}]}
  transitions: [{event: X, target: x}]
""",
        "+r +x",
        (
            ("E", "-x >x +p +a +a1 +b +b1 +c +c1", "a1 b1 c1"),
            ("B", "-b1 >b1 +b2", "a1 b2 c1"),
            ("X", "-c1 -c -b2 -b -a1 -a -p >p +x", "x"),
            ("E", "-x >x +p +a +a1 +b +b2 +c +c1", "a1 b2 c1"),
            ("A", "-a1 >a1 +a2", "a2 b2 c1"),
            ("C", "-c1 >c1 +c2", "a2 b2 c2"),
            ("X", "-c2 -c -b2 -b -a2 -a -p >p +x", "x"),
            ("E", "-x >x +p +a +a2 +b +b2 +c +c2", "a2 b2 c2"),
            ("A", "-a2 >a2 +a1", "a1 b2 c2"),
            ("X", "-c2 -c -b2 -b -a1 -a -p >p +x", "x"),
            ("E", "-x >x +p +a +a1 +b +b2 +c +c2", "a1 b2 c2"),
        ),
    ),
    Case(
        "the root's own transition leaves all but the root",
        """
name: r
initial: a
transitions: [{event: E, target: b}, {event: F, target: r}]
states: [{name: a}, {name: b}]
""",
        "+r +a",
        (("E", "-a >r +b", "b"), ("F", "-b >r +a", "a")),
    ),
    Case(
        "a target that is an ancestor of the source is left and entered",
        """
name: r
initial: p
states:
- name: p
  initial: a
  states: [{name: a, transitions: [{event: E, target: b}]}, {name: b, transitions: [{event: E, target: p}]}]
""",
        "+r +p +a",
        (("E", "-a >a +b", "b"), ("E", "-b -p >b +p +a", "a")),
    ),
    Case(
        "external is the default: a compound source is left for its child",
        """
name: r
initial: p
states:
- name: p
  initial: a
  transitions: [{event: E, target: b}, {event: I, target: b, internal: true}]
  states: [{name: a}, {name: b}]
""",
        "+r +p +a",
        (("E", "-a -p >p +p +b", "b"), ("I", "-b >p +b", "b")),
    ),
    Case(
        "internal onto itself resets only the inside",
        """
name: r
initial: p
states:
- name: p
  initial: a
  transitions: [{event: I, target: p, internal: true}]
  states: [{name: a, transitions: [{event: E, target: b}]}, {name: b}]
""",
        "+r +p +a",
        (("E", "-a >a +b", "b"), ("I", "-b >p +a", "a")),
    ),
    Case(
        "internal of a parallel state: untouched regions are entered anew",
        """
name: r
initial: p
states:
- name: p
  transitions: [{event: I, target: b2, internal: true}]
  parallel states:
  - {name: a, initial: a1, states: [{name: a1, transitions: [{event: E, target: a2}]}, {name: a2}]}
  - {name: b, initial: b1, states: [{name: b1}, {name: b2}]}
""",
        "+r +p +a +a1 +b +b1",
        (("E", "-a1 >a1 +a2", "a2 b1"), ("I", "-b1 -b -a2 -a >p +a +a1 +b +b2", "a1 b2")),
    ),
    Case(
        "internal to a place outside is as external",
        """
name: r
initial: p
states:
- name: p
  initial: a
  transitions: [{event: I, target: x, internal: true}]
  states: [{name: a}]
- {name: x}
""",
        "+r +p +a",
        (("I", "-a -p >p +x", "x"),),
    ),
    Case(
        "targetless: nothing is left or entered",
        "name: r\ninitial: a\nstates: [{name: a, transitions: [{event: E}]}]",
        "+r +a",
        (("E", ">a", "a"),),
    ),
    Case(
        "the domain is the nearest common ancestor, of any kind, and stays",
        """
name: r
initial: o
states:
- name: o
  initial: p
  states:
  - name: p
    initial: a
    states: [{name: a, transitions: [{event: E, target: y}]}]
  - {name: q, initial: x, states: [{name: x}, {name: y}]}
""",
        "+r +o +p +a",
        (("E", "-a -p >a +q +y", "y"),),
    ),
]

HISTORY = [
    Case(
        "shallow: the child, its inside by default; without a record its memory",
        """
name: r
initial: x
states:
- {name: x, transitions: [{event: E, target: h}]}
- name: p
  initial: a
  transitions: [{event: X, target: x}]
  states:
  - {name: a, initial: a1, states: [{name: a1, transitions: [{event: N, target: a2}]}, {name: a2}]}
  - {name: b, initial: b1, states: [{name: b1, transitions: [{event: N, target: b2}]}, {name: b2}]}
  - {name: h, type: shallow history, memory: b}
""",
        "+r +x",
        (
            ("E", "-x >x +p +b +b1", "b1"),
            ("N", "-b1 >b1 +b2", "b2"),
            ("X", "-b2 -b -p >p +x", "x"),
            ("E", "-x >x +p +b +b1", "b1"),
        ),
    ),
    Case(
        "deep: the atomic states; without record and memory the parent's initial",
        """
name: r
initial: x
states:
- {name: x, transitions: [{event: E, target: h}]}
- name: p
  initial: a
  transitions: [{event: X, target: x}]
  states:
  - {name: a, initial: a1, states: [{name: a1, transitions: [{event: N, target: b2}]}, {name: a2}]}
  - {name: b, initial: b1, states: [{name: b1}, {name: b2}]}
  - {name: h, type: deep history}
""",
        "+r +x",
        (
            ("E", "-x >x +p +a +a1", "a1"),
            ("N", "-a1 -a >a1 +b +b2", "b2"),
            ("X", "-b2 -b -p >p +x", "x"),
            ("E", "-x >x +p +b +b2", "b2"),
        ),
    ),
    Case(
        "in a parallel state: shallow enters the regions, deep restores them",
        """
name: r
initial: x
states:
- {name: x, transitions: [{event: E, target: d}, {event: S, target: s}]}
- name: p
  transitions: [{event: X, target: x}]
  parallel states:
  - {name: a, initial: a1, states: [{name: a1, transitions: [{event: N, target: a2}]}, {name: a2}]}
  - {name: b, initial: b1, states: [{name: b1}, {name: b2}]}
  - {name: d, type: deep history}
  - {name: s, type: shallow history}
""",
        "+r +x",
        (
            ("E", "-x >x +p +a +a1 +b +b1", "a1 b1"),
            ("N", "-a1 >a1 +a2", "a2 b1"),
            ("X", "-b1 -b -a2 -a -p >p +x", "x"),
            ("S", "-x >x +p +a +a1 +b +b1", "a1 b1"),
            ("N", "-a1 >a1 +a2", "a2 b1"),
            ("X", "-b1 -b -a2 -a -p >p +x", "x"),
            ("E", "-x >x +p +a +a2 +b +b1", "a2 b1"),
        ),
    ),
    Case(
        "a default that leads into another history",
        """
name: r
initial: x
states:
- {name: x, transitions: [{event: E, target: h}, {event: Q, target: q}]}
- name: p
  initial: q
  transitions: [{event: X, target: x}]
  states:
  - name: q
    initial: hq
    states:
    - {name: q1, transitions: [{event: N, target: q2}]}
    - {name: q2, transitions: [{event: A, target: a}]}
    - {name: hq, type: shallow history, memory: q1}
  - {name: a}
  - {name: h, type: shallow history}
""",
        "+r +x",
        (
            ("E", "-x >x +p +q +q1", "q1"),
            ("N", "-q1 >q1 +q2", "q2"),
            ("X", "-q2 -q -p >p +x", "x"),
            ("Q", "-x >x +p +q +q2", "q2"),
            ("A", "-q2 -q >q2 +a", "a"),
            ("X", "-a -p >p +x", "x"),
            ("E", "-x >x +p +a", "a"),
        ),
    ),
    Case(
        "an initial that leads into a history",
        """
name: r
initial: p
states:
- name: p
  initial: h
  transitions: [{event: E, target: p}]
  states:
  - {name: a, transitions: [{event: N, target: b}]}
  - {name: b}
  - {name: h, type: shallow history, memory: a}
""",
        "+r +p +a",
        (("E", "-a -p >p +p +a", "a"), ("N", "-a >a +b", "b"), ("E", "-b -p >p +p +b", "b")),
    ),
    Case(
        "history of one's own parent, written as it is left",
        """
name: r
initial: p
states:
- name: p
  initial: a
  transitions: [{event: E, target: h}]
  states:
  - {name: a, transitions: [{event: N, target: b}]}
  - {name: b}
  - {name: h, type: shallow history}
""",
        "+r +p +a",
        (("N", "-a >a +b", "b"), ("E", "-b -p >p +p +b", "b")),
    ),
    Case(
        "a default that is the parent's initial runs its actions; a record and a memory do not",
        """
name: r
initial: x
states:
- {name: x, transitions: [{event: S, target: s}, {event: D, target: d}, {event: M, target: m}]}
- name: p
  initial: {target: a, action: "note(what='initial of p')"}
  transitions: [{event: X, target: x}]
  states:
  - {name: a, initial: {target: a1, action: "note(what='initial of a')"}, states: [{name: a1}]}
  - {name: b, transitions: [{event: N, target: a}]}
  - {name: s, type: shallow history}
  - {name: d, type: deep history}
  - {name: m, type: shallow history, memory: {target: b, action: "note(what='memory of m')"}}
""",
        "+r +x",
        (
            ("M", "-x >x +p memory of m +b", "b"),
            ("X", "-b -p >p +x", "x"),
            ("S", "-x >x +p +b", "b"),
            ("N", "-b >b +a initial of a +a1", "a1"),
            ("X", "-a1 -a -p >p +x", "x"),
            ("D", "-x >x +p +a +a1", "a1"),
            ("X", "-a1 -a -p >p +x", "x"),
            ("S", "-x >x +p +a initial of a +a1", "a1"),
        ),
    ),
    *(
        Case(
            f"{kind}: initial actions of the default, nested, and beside one in a parallel state",
            f"""
name: r
initial: x
states:
- {{name: x, transitions: [{{event: E, target: h}}, {{event: Q, target: hq}}]}}
- name: p
  initial: {{target: q, action: "note(what='initial of p')"}}
  transitions: [{{event: X, target: x}}]
  states:
  - name: q
    parallel states:
    - name: a
      initial: {{target: a1, action: "note(what='initial of a')"}}
      states: [{{name: a1}}]
    - name: b
      initial: {{target: b1, action: "note(what='initial of b')"}}
      states: [{{name: b1}}, {{name: hb, type: {kind}}}]
    - {{name: hq, type: {kind}}}
  - {{name: h, type: {kind}}}
""",
            "+r +x",
            (
                ("E", "-x >x +p initial of p +q +a initial of a +a1 +b initial of b +b1", "a1 b1"),
                *(
                    (
                        ("X", "-b1 -b -a1 -a -q -p >p +x", "x"),
                        ("Q", "-x >x +p +q +a initial of a +a1 +b initial of b +b1", "a1 b1"),
                    )
                    if kind == "shallow history"
                    else ()
                ),
            ),
        )
        for kind in ("shallow history", "deep history")
    ),
    Case(
        "a default from inside the parent, by an internal transition: the parent is not entered, its initial not taken",
        """
name: r
initial: p
states:
- name: p
  initial: {target: a, action: "note(what='initial of p')"}
  transitions: [{event: E, target: h, internal: true}, {event: F, target: h}]
  states: [{name: a}, {name: h, type: deep history}]
""",
        "+r +p initial of p +a",
        (("E", "-a >p +a", "a"), ("F", "-a -p >p +p +a", "a")),
    ),
    Case(
        "an initial that leads into a history without a record, whose default is another initial with actions",
        """
name: r
initial: {target: hq, action: "note(what='initial of r')"}
states:
- name: q
  initial: {target: c, action: "note(what='initial of q')"}
  transitions: [{event: E, target: r}]
  states: [{name: c}, {name: hq, type: shallow history}]
""",
        "+r initial of r +q initial of q +c",
        (),
    ),
]


@pytest.mark.parametrize("case", [*SELECTION, *DOMAINS, *HISTORY], ids=lambda case: case.id)
def test_case(case: Case) -> None:
    case.play()


def test_a_default_that_leads_to_itself_is_told_at_load() -> None:
    text = "name: r\ninitial: p\nstates:\n- name: p\n  initial: h\n  states: [{name: a}, {name: h, type: deep history}]"
    with pytest.raises(ChartDefinitionError) as caught:
        chart_of(text)
    (found,) = caught.value.diagnostics
    assert found.code == "invalid-initial"
    assert "initial 'h' of 'p' would lead to the initial of 'p' itself; give 'h' a memory" in found.message


DESCRIPTORS = [
    ("a", "a", True),
    ("a", "a.b", False),
    ("a", "ab", False),
    ("a.*", "a", True),
    ("a.*", "a.b", True),
    ("a.*", "a.b.c", True),
    ("a.*", "ab", False),
    ("'*'", "anything.at.all", True),
    ("'*'", "done.invoke.x", True),
    ("'*'", "after.x.0", False),
    ("'*'", "rawko.x", False),
    ("'*'", "error.x", False),
    ("error.*", "error.x", True),
    ("[a, b.*]", "b.c", True),
    ("[a, b.*]", "c", False),
]


@pytest.mark.parametrize(("descriptor", "event", "is_taken"), DESCRIPTORS)
def test_descriptors(descriptor: str, event: str, is_taken: bool) -> None:
    chart = chart_of(
        f"name: r\ninitial: a\nstates:\n- {{name: a, transitions: [{{event: {descriptor}, target: b}}]}}\n- name: b"
    )
    assert machine(chart).send(event).receipt is (Receipt.TAKEN if is_taken else Receipt.UNKNOWN)


def test_each_guard_is_asked_at_most_once() -> None:
    asked: list[str] = []
    bindings = Bindings()

    def answering(name: str, answer: bool) -> None:
        def guard(context: object, event: object) -> bool:
            asked.append(name)
            return answer

        bindings.add("guard", name, guard)

    answering("first", False)
    answering("second", True)
    answering("third", True)
    interpreter = machine(
        """
name: p
parallel states:
- {name: a, transitions: [{event: E, guard: first, target: a}, {event: E, guard: second}]}
- {name: b, transitions: [{event: E, guard: third}]}
""",
        bindings,
    )
    interpreter.start()
    asked.clear()
    interpreter.send("E")
    assert asked == ["first", "second", "third"]


def test_an_event_nobody_takes_is_consumed_in_one_empty_microstep() -> None:
    interpreter = machine("name: r\ninitial: a\nstates: [{name: a}]")
    log = Log(interpreter)
    interpreter.start()
    log()
    step = interpreter.send("E")
    (micro,) = step.steps
    assert (micro.event, micro.transition, micro.transitions) == (step.event, None, [])
    assert (micro.entered_states, micro.exited_states, micro.sent_events) == ([], [], [])
    assert (log(), leaves(interpreter), interpreter.execute()) == ("", "a", [])


def test_configuration_is_listed_by_depth_and_name() -> None:
    interpreter = machine("name: p\nparallel states: [{name: z, initial: y, states: [name: y]}, {name: a}]")
    interpreter.start()
    assert interpreter.configuration == ["p", "a", "z", "y"]


def test_an_internal_transition_of_a_leaf_to_itself_beside_one_that_leaves_it() -> None:
    interpreter = machine(
        """
name: r
parallel states:
- name: p
  parallel states:
  - {name: a, transitions: [{event: E, target: a, internal: true}]}
  - {name: b}
- name: q
  initial: c
  states: [{name: c}, {name: h, type: shallow history}]
- {name: z, transitions: [{event: E, target: h}]}
"""
    )
    log = Log(interpreter)
    interpreter.start()
    log()
    interpreter.send("E")
    assert log() == "-z -c -q -b -a -p >a >z +p +a +b +q +c +z"
    assert leaves(interpreter) == "a b c z"


@pytest.mark.parametrize("kind", ["shallow history", "deep history"])
def test_an_internal_transition_of_a_leaf_to_itself_by_a_history_beside_one_that_leaves_it(kind: str) -> None:
    interpreter = machine(
        f"""
name: r
initial: p
states:
- name: p
  parallel states:
  - {{name: a, transitions: [{{event: E, target: away}}]}}
  - name: q
    initial: b
    states:
    - {{name: b, transitions: [{{event: E, target: recent, internal: true}}]}}
    - {{name: recent, type: {kind}}}
- name: away
"""
    )
    log = Log(interpreter)
    interpreter.start()
    log()
    interpreter.send("E")
    assert log() == "-b -q -a -p >a >b +away"
    assert leaves(interpreter) == "away"


@pytest.mark.parametrize("result", [True, 1, "no", [0], 0.5, False, None, 0, "", []])
@pytest.mark.parametrize("guard", ["g", "not (not g)", "g and yes"])
def test_a_result_of_a_guard_counts_as_its_truth_value(guard: str, result: object) -> None:
    chart = chart_of(
        f"""
name: r
initial: a
states:
- {{name: a, transitions: [{{event: E, guard: {guard}, target: b}}]}}
- {{name: b}}
"""
    )
    bindings = Bindings()
    bindings.add("guard", "g", lambda context, event: result)
    bindings.add("guard", "yes", yes)
    assert Interpreter(chart, bindings).send("E").receipt is (Receipt.TAKEN if result else Receipt.DENIED)


def test_matches_refuses_a_name_that_is_no_state() -> None:
    door = Interpreter(chart_of("{name: r, initial: locked, states: [{name: locked}, {name: open}]}"), Bindings())
    assert not door.matches("locked"), "it has not started"
    door.start()
    assert door.matches("locked") and door.matches("r") and not door.matches("open")
    with pytest.raises(ValueError, match=r"chart 'case' has no state 'lokced'; did you mean 'locked'\?"):
        door.matches("lokced")

"""Charts for properties: hierarchy, parallel, history, final, guards, eventless, wildcards, timers, raise, actors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from rawko.chart import ChartError, find_chart, load_chart, parse_chart, shipped_charts
from rawko.chart.formats.yaml_text import yaml_text
from rawko.chart.formats.yaml_writer import write_chart

EVENTS = ("A", "B", "C", "C.one", "C.two")
DESCRIPTORS = (*EVENTS, "C.*", ["*", "error.invoke.*", "after.*"])
"""`*` as XState has it: it takes errors and timers, too."""
PLAIN = ("A", "B", "D")
LEAVES = ("g0", "g1", "g2(n=1)", "in_state('s1')", "g3(of=event.task)")


@dataclass
class _Plan:
    """States drawn so far: transitions are drawn when all names are known."""

    draw: st.DrawFn
    is_plain: bool = False
    rows: list[dict[str, Any]] = field(default_factory=list)
    inside: dict[str, list[str]] = field(default_factory=dict)
    histories: dict[str, str] = field(default_factory=dict)
    invokes: int = 0
    delay: int = 0

    def state(self, depth: int, parents: list[str]) -> dict[str, Any]:
        row: dict[str, Any] = {"name": f"s{len(self.inside)}"}
        self.inside[row["name"]] = parents
        kind = self.draw(st.sampled_from(("atomic", "atomic", "compound", "parallel", "final")))
        if depth == 0:
            kind = self.draw(st.sampled_from(("compound", "compound", "parallel")))
        if depth > 2 and kind in ("compound", "parallel"):
            kind = "atomic"
        if kind == "final" and depth > 0:
            return {**row, "type": "final", **self.hooks()}
        row |= self.hooks()
        self.rows.append(row)
        if kind in ("compound", "parallel"):
            self.children(row, kind, depth, parents)
        return row

    def children(self, row: dict[str, Any], kind: str, depth: int, parents: list[str]) -> None:
        inside = [*parents, row["name"]]
        least = 2 if kind == "parallel" else 1
        children = [self.state(depth + 1, inside) for _ in range(self.draw(st.integers(least, 3)))]
        if kind == "compound":
            row["initial"] = children[0]["name"]
        if self.draw(st.integers(0, 2)) == 0:
            history = {
                "name": f"h{len(self.histories)}",
                "type": self.draw(st.sampled_from(("shallow history", "deep history"))),
            }
            if kind == "compound" and self.draw(st.booleans()):
                history["memory"] = children[-1]["name"]
            self.histories[history["name"]] = row["name"]
            children.append(history)
        row["states" if kind == "compound" else "parallel states"] = children

    def hooks(self) -> dict[str, Any]:
        return {key: self.actions() for key in ("on entry", "on exit") if self.draw(st.booleans())}

    def actions(self) -> list[Any]:
        choices: tuple[Any, ...] = ("a0", "a1(n='x')", "a2(of=event.task)", {"raise": "B"}, {"log": "a line"}, "later")
        chosen = self.draw(st.lists(st.sampled_from(choices), min_size=1, max_size=2))
        return [action for choice in chosen for action in (self.later() if choice == "later" else [choice])]

    def later(self) -> list[Any]:
        """Withdraw what waits under an id, and perhaps send something later under it.

        Never twice under one id: XState's `cancel` takes only the latest then (docs/formats.md).
        """
        id = self.draw(st.sampled_from(("d0", "d1", "d2")))
        send = {"event": self.draw(st.sampled_from(PLAIN)), "delay": f"{self.draw(st.integers(1, 40))}ms", "id": id}
        return [{"cancel": id}, *([{"send": send}] if self.draw(st.booleans()) else [])]

    def guard(self, depth: int = 0) -> str:
        kind = self.draw(st.integers(0, 3 if depth < 2 else 0))
        if kind < 2:
            return self.draw(st.sampled_from(LEAVES))
        if kind == 2:
            return f"not ({self.guard(depth + 1)})"
        word = self.draw(st.sampled_from(("and", "or")))
        return f"({self.guard(depth + 1)}) {word} ({self.guard(depth + 1)})"

    def moves(self, row: dict[str, Any]) -> None:
        name = row["name"]
        found = [
            {"event": self.draw(st.sampled_from(PLAIN if self.is_plain else DESCRIPTORS)), **self.move(name)}
            for _ in range(self.draw(st.integers(0, 3)))
        ]
        if found:
            row["transitions"] = found
        if "initial" in row:
            if self.draw(st.booleans()):
                row["on done"] = self.move(name)
            if self.may_act_at_initial(name) and self.draw(st.booleans()):
                row["initial"] = {"target": row["initial"], "action": self.actions()}
        # Only in leaves: XState asks an ancestor for each leaf, we where nothing inside has fired. And one alone where
        # several could be asked at once: XState asks them in the order in which their states were entered.
        is_alone = not any("parallel states" in other for other in self.rows) or not any(
            "always" in r for r in self.rows
        )
        if "states" not in row and "parallel states" not in row and is_alone and self.draw(st.integers(0, 4)) == 0:
            row["always"] = {**self.move(name), "guard": self.guard()}
        if self.draw(st.integers(0, 4)) == 0:
            self.delay += 7
            row["after"] = {f"{self.delay}ms": self.move(name)}
        if self.draw(st.integers(0, 4)) == 0:
            self.invokes += 1
            row["invoke"] = {
                "id": f"i{self.invokes}",
                "src": "work",
                "on done": self.move(name),
                "on error": self.move(name),
            }

    def may_act_at_initial(self, name: str) -> bool:
        """Not where XState passes over them (docs/formats.md): in regions beside a target, and in what a history state
        gives back or leads to."""
        parent = self.inside[name][-1] if self.inside[name] else ""
        is_region = any(row["name"] == parent and "parallel states" in row for row in self.rows)
        return not is_region and parent not in self.histories.values()

    def move(self, source: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if self.draw(st.booleans()):
            found["guard"] = self.guard()
        if self.draw(st.integers(0, 3)):
            found["target"] = self.target(source)
            found["internal"] = not self.is_plain and self.draw(st.booleans())
        if self.draw(st.booleans()):
            found["action"] = self.actions()
        if self.draw(st.integers(0, 4)) == 0:
            found["priority"] = self.draw(st.sampled_from(("high", "low", 3)))
        return found

    def target(self, source: str) -> str:
        """Any state but where XState differs (docs/formats.md): it enters the root again without leaving it, and
        takes a history state from inside its parent for what was recorded earlier."""
        outside = [h for h, parent in self.histories.items() if parent != source and parent not in self.inside[source]]
        states = [name for name in self.inside if self.inside[name] or (name == source and not self.is_plain)]
        return self.draw(st.sampled_from([*states, *outside]))


@st.composite
def chart_texts(draw: st.DrawFn, *, is_plain: bool = False) -> str:
    """The YAML of a chart that loads; plain ones keep to events and transitions that mean the same in SCXML."""
    plan = _Plan(draw, is_plain)
    root = plan.state(0, [])
    for row in plan.rows:
        plan.moves(row)
    try:
        return write_chart(parse_chart(yaml_text({"statechart": {"name": root["name"], "root state": root}})))
    except ChartError:
        assume("s1" in plan.inside)  # guards ask for it: all else loads
        raise


WITHOUT_LISTS = tuple(
    stem
    for stem in shipped_charts()
    if not any(invoke.for_each for state in load_chart(find_chart(stem)) for invoke in state.invoke)
)
"""The shipped charts that other formats hold whole: none of them calls an actor once per item of a list."""

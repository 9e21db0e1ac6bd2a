"""What `make mutants` puts into code: each kind of defect, where it may stand, and what is left alone."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import pytest

from tests.mutation.__main__ import ROOMS, draw
from tests.mutation.operators import function_of, places
from tests.requirements.page import ROOT


def mutated(source: str) -> set[tuple[str, str]]:
    """Kind and line of every defect of a text, as it then reads."""
    text = textwrap.dedent(source)
    lines = set()
    for place in places(text):
        changed = place.applied(text)
        ast.parse(changed)
        lines.add((place.kind, changed.splitlines()[place.line - 1].strip()))
    return lines


@pytest.mark.parametrize(
    ("line", "kind", "then"),
    [
        ("x = a < b", "bound", "x = (a <= b)"),
        ("x = a == b", "comparison", "x = (a != b)"),
        ("x = a is not None", "comparison", "x = (a is None)"),
        ("x = a and b or c", "and, or", "x = ((a and b) and (c))"),
        ("x = not a", "lost not", "x = (a)"),
        ("x = a + b", "arithmetic", "x = (a - b)"),
        ("x = 3", "constant", "x = 4"),
        ("x = True", "constant", "x = False"),
        ("x: int = 3", "constant", "x: int = 4"),
        ("found.append(x)", "left out", "pass"),
        ("raise ValueError('x')", "left out", "pass"),
        ("x += y", "left out", "pass"),
        ("x = a if b else c", "condition", "x = a if (not (b)) else c"),
        ("größe = 'ä' == b", "comparison", "größe = ('ä' != b)"),
    ],
)
def test_each_kind(line: str, kind: str, then: str) -> None:
    assert (kind, then) in mutated(line)


def test_what_is_left_alone() -> None:
    source = '''
        """A docstring == 3."""
        import a
        from b import c
        def f(x: Literal[3]) -> int: ...
        class P(Protocol):
            x: int = 3
        if TYPE_CHECKING:
            y = 3
        log.warning("so many", 3 == 4)
        assert_never(x)
        text = f"{3 == 4}"
        name = "a" + b
        class A:
            def __repr__(self):
                return 3 == 4
    '''
    assert mutated(source) == set()


@pytest.mark.thorough
def test_a_draw_is_the_same_for_the_same_seed_and_every_defect_parses() -> None:
    small = [[str(defect) for defect in draw(["workspace"], 40, seed)] for seed in (7, 7, 8)]
    assert small[0] == small[1] != small[2]
    drawn = draw(ROOMS, 40, 7)
    assert len(drawn) == 40
    for defect in drawn:
        assert (ROOT / defect.path).read_text(encoding="utf-8") == defect.source
        assert ast.dump(ast.parse(defect.place.applied(defect.source))) != ast.dump(ast.parse(defect.source))
        assert Path(defect.path).parts[:2] == ("rawko", defect.room)


def test_a_draw_stays_as_it_was_where_other_code_changes(tmp_path: Path) -> None:
    room = tmp_path / "rawko" / "runtime"
    room.mkdir(parents=True)
    same = "".join(f"def f{n}(a):\n    if a < {n}:\n        return a + {n}\n    return not a\n" for n in range(20))
    (room / "same.py").write_text(same, encoding="utf-8")
    before = {defect.key for defect in draw(["runtime"], 30, 0, tmp_path)}
    (room / "other.py").write_text("def other(a):\n    return a + 1\n", encoding="utf-8")
    (room / "same.py").write_text("LIMIT = 3\n\n\n" + same, encoding="utf-8")
    after = {defect.key for defect in draw(["runtime"], 30, 0, tmp_path)}
    assert all(path.endswith("other.py") or line == "LIMIT = 3" for path, _, line, _ in after - before)
    assert len(before & after) >= 25


@pytest.mark.parametrize(("line", "body"), [(1, None), (2, None), (3, (3, 6)), (5, (5, 5)), (6, (3, 6)), (7, None)])
def test_the_function_around_a_line(line: int, body: tuple[int, int] | None) -> None:
    source = "x = 1\ndef f(a=2):\n    y = 3\n    def g():\n        return 4\n    return g\nz = 5\n"
    assert function_of(source, line) == body

"""Small defects of Python code: for one module, every place where one can be put, and the text with it.

A defect is what a hand slips into: a comparison turned, a bound off by one, an `and` for an `or`, a lost `not`, a
statement left out, a value not given back. Docstrings, annotations, imports, the texts of errors and log lines are
left alone: a test that fails on their wording proves nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}
ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "+",
    ast.FloorDiv: "*",
    ast.Div: "*",
    ast.Mod: "*",
    ast.BitOr: "&",
    ast.BitAnd: "|",
}
TELLING = frozenset({"debug", "info", "warning", "exception", "log"})
"""Calls of a logger."""


@dataclass(frozen=True, slots=True)
class Place:
    """One defect: the characters `start` to `end` of a module's text become `text`.

    Attributes:
        kind: Of the defect, for the table: `comparison`, `bound`, `left out` and so on.
        line: From 1.
        end_line: The last line of the statement or expression that is replaced.
    """

    kind: str
    start: int
    end: int
    text: str
    line: int
    end_line: int

    def applied(self, source: str) -> str:
        return source[: self.start] + self.text + source[self.end :]


def places(source: str) -> list[Place]:
    """Every defect that can be put into a module, in the order of its text."""
    finder = _Finder(source)
    finder.visit(ast.parse(source))
    return sorted(finder.found, key=lambda place: (place.start, place.end, place.kind, place.text))


class _Finder(ast.NodeVisitor):
    def __init__(self, source: str) -> None:
        self.found: list[Place] = []
        self._source = source
        self._begins = [0]
        for line in source.splitlines(keepends=True):
            self._begins.append(self._begins[-1] + len(line))
        self._lines = source.splitlines(keepends=True)

    # ------------------------------------------------------------ where things stand

    def _offset(self, line: int, column: int) -> int:
        """`ast` counts columns in bytes of UTF-8."""
        return self._begins[line - 1] + len(self._lines[line - 1].encode()[:column].decode())

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
        return self._offset(node.lineno, node.col_offset), self._offset(end_line, end_column)

    def _text(self, node: ast.expr | ast.stmt) -> str:
        start, end = self._span(node)
        return self._source[start:end]

    def _put(self, kind: str, node: ast.expr | ast.stmt, text: str) -> None:
        start, end = self._span(node)
        if self._source[start:end] != text:
            self.found.append(Place(kind, start, end, text, node.lineno, node.end_lineno or node.lineno))

    # ------------------------------------------------------------ what is left alone

    def visit_Import(self, node: ast.Import) -> None: ...

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None: ...

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_arg(self, node: ast.arg) -> None: ...

    def visit_Raise(self, node: ast.Raise) -> None:
        self._put("left out", node, "pass")

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None: ...

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        bases = {ast.unparse(base).partition("[")[0] for base in node.bases}
        if bases & {"Protocol", "TypedDict", "NamedTuple"}:
            return
        for statement in node.body:
            self.visit(statement)

    def visit_If(self, node: ast.If) -> None:
        if "TYPE_CHECKING" in ast.unparse(node.test):
            return
        self._put("condition", node.test, f"not ({self._text(node.test)})")
        self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._function(node)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Its body and defaults; decorators and annotations are left alone, and so are signatures without a body."""
        if node.name in ("__repr__", "__rich_repr__") or "overload" in {ast.unparse(d) for d in node.decorator_list}:
            return
        for default in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
            self.visit(default)
        for statement in node.body:
            self.visit(statement)

    # ------------------------------------------------------------ statements

    def visit_Expr(self, node: ast.Expr) -> None:
        value = node.value
        if isinstance(value, ast.Constant):
            return  # a docstring, or the dots of an empty body
        call = value.value if isinstance(value, ast.Await) else value
        if isinstance(call, ast.Call):
            name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
            if isinstance(call.func, ast.Name) and call.func.id == "assert_never":
                return  # mypy proves that no value comes there
            if name in TELLING:
                return
            self._put("left out", node, "pass")
        self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is None:
            return
        if not isinstance(node.value, ast.Constant):
            self._put("result", node.value, "None")
        self.visit(node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._put("left out", node, "pass")
        self.visit(node.value)

    def visit_Break(self, node: ast.Break) -> None:
        self._put("loop", node, "continue")

    def visit_Continue(self, node: ast.Continue) -> None:
        self._put("loop", node, "break")

    # ------------------------------------------------------------ expressions

    def visit_Compare(self, node: ast.Compare) -> None:
        if len(node.ops) == 1:
            turned = COMPARISONS[type(node.ops[0])]
            kind = "bound" if isinstance(node.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE) else "comparison"
            self._put(kind, node, f"({self._text(node.left)} {turned} {self._text(node.comparators[0])})")
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        word = " or " if isinstance(node.op, ast.And) else " and "
        self._put("and, or", node, "(" + word.join(f"({self._text(value)})" for value in node.values) + ")")
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            self._put("lost not", node, f"({self._text(node.operand)})")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        other = ARITHMETIC.get(type(node.op))
        if other is not None and not self._makes_text(node):
            self._put("arithmetic", node, f"({self._text(node.left)} {other} {self._text(node.right)})")
        self.generic_visit(node)

    @staticmethod
    def _makes_text(node: ast.BinOp) -> bool:
        sides = (node.left, node.right)
        return any(isinstance(side, ast.JoinedStr) for side in sides) or any(
            isinstance(side, ast.Constant) and isinstance(side.value, str | bytes) for side in sides
        )

    def visit_Constant(self, node: ast.Constant) -> None:
        match node.value:
            case bool(value):
                self._put("constant", node, str(not value))
            case int(value):
                self._put("constant", node, str(value + 1))

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._put("condition", node.test, f"(not ({self._text(node.test)}))")
        self.generic_visit(node)


def function_of(source: str, line: int) -> tuple[int, int] | None:
    """First and last line of the body of the innermost function around a line; None where it runs at import."""
    inside = [
        (node.body[0].lineno, node.end_lineno or node.lineno)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body[0].lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return max(inside, default=None)


def rooms_places(texts: dict[str, str]) -> Iterator[tuple[str, Place]]:
    """Every defect of several modules, with the module's path."""
    for path, source in texts.items():
        for place in places(source):
            yield path, place

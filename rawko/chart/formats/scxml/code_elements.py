"""Writes Python code of the data model `python` as SCXML elements; the inverse of `python_code`.

    assign('n', n + 1)            ->  <assign location="n" expr="n + 1"/>
    for x in each(xs): ...        ->  <foreach array="xs" item="x">...
    n = len(xs); print(n)         ->  <script>n = len(xs); print(n)</script>

Code that has no element of its own is written as `<script>`, which always preserves it; so is code whose element would
not give the same code when it is read again.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from rawko.chart.definition import CodeAction
from rawko.chart.errors import ChartSyntaxError
from rawko.chart.formats.scxml.content import block
from rawko.chart.formats.scxml.markup import Lines, element, text_element, xml
from rawko.chart.formats.scxml.source import PYTHON, Source
from rawko.chart.formats.scxml.xml import SCXML, inline_xml, read_xml


class NoElement(Exception):
    """The code cannot be written as an element other than <script>."""


def elements(code: str) -> Lines:
    """The code of one action as an element."""
    try:
        statements = ast.parse(code).body
        lines = _statement(code, statements[0]) if len(statements) == 1 else []
    except (NoElement, SyntaxError, ValueError, RecursionError):
        lines = []
    if lines and _reads_the_same(lines, code):
        return lines
    return [text_element("script", code)]


def _reads_the_same(lines: Lines, code: str) -> bool:
    try:
        root = read_xml(f'<scxml xmlns="{SCXML}">{chr(10).join(lines)}</scxml>', "<code>")
    except ChartSyntaxError:
        return False
    source = Source(root, "<code>", is_trusted=True, data_model=PYTHON)
    found = block(source, root)
    return found == (CodeAction(code),) and not source.diagnostics and not source.losses.found


# ---------------------------------------------------------------- statements


def _statement(code: str, statement: ast.stmt) -> Lines:
    match statement:
        case ast.Expr(ast.Call(ast.Name(name), arguments, keywords)) if name in _CALLS:
            given = {keyword.arg: keyword.value for keyword in keywords if keyword.arg is not None}
            if len(given) != len(keywords):
                raise NoElement
            return _CALLS[name](code, arguments, given)
        case ast.If(test, body, rest):
            start = f"<if cond={_quoted(_condition(code, test))}>"
            return [start, *_body(code, body), *_rest(code, rest), "</if>"]
        case ast.For(target, ast.Call(ast.Name("each"), [array]), body, []):
            return element("foreach", {"array": segment(code, array), "item": _name(target)}, _inside(code, body))
        case ast.For(
            ast.Tuple([index, item]),
            ast.Call(ast.Name("enumerate"), [ast.Call(ast.Name("each"), [array])]),
            body,
            [],
        ):
            names = {"array": segment(code, array), "item": _name(item), "index": _name(index)}
            return element("foreach", names, _inside(code, body))
        case _:
            raise NoElement


def _condition(code: str, test: ast.expr) -> str:
    match test:
        case ast.Call(ast.Name("holds"), [ast.Lambda(body=inner)], []):
            return segment(code, inner)
        case _:
            raise NoElement


def _rest(code: str, statements: list[ast.stmt]) -> Iterator[str]:
    """The lines of `elif` and `else`."""
    if len(statements) == 1 and isinstance(following := statements[0], ast.If):
        yield "  <elseif cond=" + _quoted(_condition(code, following.test)) + "/>"
        yield from _body(code, following.body)
        yield from _rest(code, following.orelse)
    elif statements:
        yield "  <else/>"
        yield from _body(code, statements)


def _body(code: str, statements: list[ast.stmt]) -> Lines:
    return [f"  {line}" for line in _inside(code, statements)]


def _inside(code: str, statements: list[ast.stmt]) -> Lines:
    """A body; statements without an element are written as a script."""
    if len(statements) == 1 and isinstance(statements[0], ast.Pass):
        return []
    found: Lines = []
    for statement in statements:
        try:
            found += _statement(code, statement)
        except NoElement:
            found.append(text_element("script", ast.unparse(statement)))
    return found


# ---------------------------------------------------------------- calls

Given = dict[str, ast.expr]


def _assign(code: str, arguments: list[ast.expr], given: Given) -> Lines:
    if len(arguments) != 2 or given:
        raise NoElement
    location = constant(arguments[0])
    inside = xml_of(arguments[1])
    if inside is not None:
        return [f"<assign location={_quoted(location)}>{inside}</assign>"]
    return element("assign", {"location": location, "expr": segment(code, arguments[1])}, [])


def _log(code: str, arguments: list[ast.expr], given: Given) -> Lines:
    if not 1 <= len(arguments) <= 2 or given:
        raise NoElement
    label = constant(arguments[0])
    attributes = {"label": label} if label else {}
    if len(arguments) == 2:
        attributes["expr"] = segment(code, arguments[1])
    return element("log", attributes, [])


def _raise(code: str, arguments: list[ast.expr], given: Given) -> Lines:
    if len(arguments) != 1 or given:
        raise NoElement
    return element("raise", {"event": constant(arguments[0])}, [])


def _cancel(code: str, arguments: list[ast.expr], given: Given) -> Lines:
    if len(arguments) != 1 or given:
        raise NoElement
    return element("cancel", {"sendidexpr": segment(code, arguments[0])}, [])


def _send(code: str, arguments: list[ast.expr], given: Given) -> Lines:
    if len(arguments) > 1:
        raise NoElement
    attributes: dict[str, str] = {}
    for name, value in [("event", each) for each in arguments] + [(n, given[n]) for n in _EITHER if n in given]:
        attributes |= _either(code, name, value)
    for name in ("id", "idlocation"):
        if name in given:
            attributes[name] = constant(given[name])
    body: Lines = []
    if "data" in given:
        body += param_elements(code, given["data"])
    if "content" in given:
        inside = xml_of(given["content"])
        body += (
            [f"<content>{inside}</content>"]
            if inside is not None
            else element("content", {"expr": segment(code, given["content"])}, [])
        )
    return element("send", attributes, body)


_EITHER = ("target", "type", "delay")
_CALLS: dict[str, Callable[[str, list[ast.expr], Given], Lines]] = {
    "assign": _assign,
    "log": _log,
    "raise_": _raise,
    "cancel": _cancel,
    "send": _send,
}


def param_elements(code: str, data: ast.expr) -> Lines:
    """The items of a dict display as <param> elements."""
    if not isinstance(data, ast.Dict):
        raise NoElement
    found: Lines = []
    for key, value in zip(data.keys, data.values, strict=True):
        if key is None:
            raise NoElement
        found += element("param", {"name": constant(key), "expr": segment(code, value)}, [])
    return found


def _either(code: str, name: str, value: ast.expr) -> dict[str, str]:
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return {name: xml(value.value)}
    return {f"{name}expr": segment(code, value)}


def constant(value: ast.expr) -> str:
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return xml(value.value)
    raise NoElement


def _name(target: ast.expr) -> str:
    if isinstance(target, ast.Name):
        return target.id
    raise NoElement


def xml_of(value: ast.expr) -> str | None:
    """The XML text inside a call `xml('...')`, in document form; None for other expressions."""
    match value:
        case ast.Call(ast.Name("xml"), [ast.Constant(str(text))], []):
            return inline(text)
        case _:
            return None


def inline(text: str) -> str:
    try:
        return inline_xml(text)
    except ChartSyntaxError:
        raise NoElement from None


def segment(code: str, value: ast.expr) -> str:
    return xml(ast.get_source_segment(code, value) or ast.unparse(value))


def _quoted(text: str) -> str:
    return element("x", {"y": text}, [])[0].removeprefix("<x y=").removesuffix("/>")

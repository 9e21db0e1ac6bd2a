"""Python code of the data model `python` as SCXML's elements: the way back from `python_code`.

Whatever has no element of its own, or would not come back letter by letter, stands as `<script>`, which always does.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from rawko.chart.definition import CodeAction
from rawko.chart.errors import ChartSyntaxError
from rawko.chart.formats.scxml import python_code
from rawko.chart.formats.scxml.content import block
from rawko.chart.formats.scxml.markup import Lines, element, text_element, xml
from rawko.chart.formats.scxml.source import PYTHON, Source
from rawko.chart.formats.scxml.xml import SCXML, inline_xml, read_xml


class _Other(Exception):
    """The code has no element."""


def elements(code: str) -> Lines:
    """One action's code as an element."""
    try:
        statements = ast.parse(code).body
        lines = _statement(code, statements[0]) if len(statements) == 1 else []
    except (_Other, SyntaxError, ValueError, RecursionError):
        lines = []
    if lines and _comes_back(lines, code):
        return lines
    return [text_element("script", code)]


def _comes_back(lines: Lines, code: str) -> bool:
    try:
        root = read_xml(f'<scxml xmlns="{SCXML}">{chr(10).join(lines)}</scxml>', "<code>")
    except ChartSyntaxError:
        return False
    source = Source(root, "<code>", is_trusted=True, data_model=PYTHON)
    found = block(source, root)
    return found == (CodeAction(code),) and not source.diagnostics and not source.losses.found


def condition(code: str) -> str:
    """A guard's code as `cond`."""
    return xml(code)


def data_elements(preamble: str) -> Lines:
    """A preamble as <datamodel> and <script>."""
    lines = preamble.splitlines()
    data: Lines = []
    while lines and (found := _data(lines[0])):
        data += found
        lines.pop(0)
    found_lines = element("datamodel", {}, data) if data else []
    rest = "\n".join(lines)
    return found_lines + ([text_element("script", rest)] if rest else [])


def _data(line: str) -> Lines:
    """A line that declares a variable as <data>."""
    try:
        statements = ast.parse(line).body
    except (SyntaxError, ValueError):
        return []
    if len(statements) != 1 or not isinstance(statements[0], ast.Assign):
        return []
    (target, *others), value = statements[0].targets, _segment(line, statements[0].value)
    if others or not isinstance(target, ast.Name) or line != f"{target.id} = {value}":
        return []
    if value == "None":
        return element("data", {"id": target.id}, [])
    try:
        if (inside := _xml_of(statements[0].value)) is not None:
            return [f'<data id="{target.id}">{inside}</data>']
    except _Other:
        return []
    return element("data", {"id": target.id, "expr": xml(value)}, []) if _is_same(value) else []


def _is_same(code: str) -> bool:
    return python_code.expression(code) == code


# ---------------------------------------------------------------- statements


def _statement(code: str, statement: ast.stmt) -> Lines:
    match statement:
        case ast.Expr(ast.Call(ast.Name(name), arguments, keywords)) if name in _CALLS:
            given = {keyword.arg: keyword.value for keyword in keywords if keyword.arg is not None}
            if len(given) != len(keywords):
                raise _Other
            return _CALLS[name](code, arguments, given)
        case ast.If(test, body, rest):
            start = f"<if cond={_quoted(_condition(code, test))}>"
            return [start, *_body(code, body), *_rest(code, rest), "</if>"]
        case ast.For(target, ast.Call(ast.Name("each"), [array]), body, []):
            return element("foreach", {"array": _segment(code, array), "item": _name(target)}, _inside(code, body))
        case ast.For(
            ast.Tuple([index, item]),
            ast.Call(ast.Name("enumerate"), [ast.Call(ast.Name("each"), [array])]),
            body,
            [],
        ):
            names = {"array": _segment(code, array), "item": _name(item), "index": _name(index)}
            return element("foreach", names, _inside(code, body))
        case _:
            raise _Other


def _condition(code: str, test: ast.expr) -> str:
    match test:
        case ast.Call(ast.Name("holds"), [ast.Lambda(body=inner)], []):
            return _segment(code, inner)
        case _:
            raise _Other


def _rest(code: str, statements: list[ast.stmt]) -> Iterator[str]:
    """`elif` and `else`."""
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
    """A body; what has no element is a script."""
    if len(statements) == 1 and isinstance(statements[0], ast.Pass):
        return []
    found: Lines = []
    for statement in statements:
        try:
            found += _statement(code, statement)
        except _Other:
            found.append(text_element("script", ast.unparse(statement)))
    return found


# ---------------------------------------------------------------- calls

Given = dict[str, ast.expr]


def _assign(code: str, arguments: list[ast.expr], given: Given) -> Lines:
    if len(arguments) != 2 or given:
        raise _Other
    location = _constant(arguments[0])
    inside = _xml_of(arguments[1])
    if inside is not None:
        return [f"<assign location={_quoted(location)}>{inside}</assign>"]
    return element("assign", {"location": location, "expr": _segment(code, arguments[1])}, [])


def _log(code: str, arguments: list[ast.expr], given: Given) -> Lines:
    if not 1 <= len(arguments) <= 2 or given:
        raise _Other
    label = _constant(arguments[0])
    attributes = {"label": label} if label else {}
    if len(arguments) == 2:
        attributes["expr"] = _segment(code, arguments[1])
    return element("log", attributes, [])


def _raise(code: str, arguments: list[ast.expr], given: Given) -> Lines:
    if len(arguments) != 1 or given:
        raise _Other
    return element("raise", {"event": _constant(arguments[0])}, [])


def _cancel(code: str, arguments: list[ast.expr], given: Given) -> Lines:
    if len(arguments) != 1 or given:
        raise _Other
    return element("cancel", {"sendidexpr": _segment(code, arguments[0])}, [])


def _send(code: str, arguments: list[ast.expr], given: Given) -> Lines:
    if len(arguments) > 1:
        raise _Other
    attributes: dict[str, str] = {}
    for name, value in [("event", each) for each in arguments] + [(n, given[n]) for n in _EITHER if n in given]:
        attributes |= _either(code, name, value)
    for name in ("id", "idlocation"):
        if name in given:
            attributes[name] = _constant(given[name])
    body: Lines = []
    if "data" in given:
        body += param_elements(code, given["data"])
    if "content" in given:
        inside = _xml_of(given["content"])
        body += (
            [f"<content>{inside}</content>"]
            if inside is not None
            else element("content", {"expr": _segment(code, given["content"])}, [])
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
    """A display of a dict as <param>s."""
    if not isinstance(data, ast.Dict):
        raise _Other
    found: Lines = []
    for key, value in zip(data.keys, data.values, strict=True):
        if key is None:
            raise _Other
        found += element("param", {"name": _constant(key), "expr": _segment(code, value)}, [])
    return found


def _either(code: str, name: str, value: ast.expr) -> dict[str, str]:
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return {name: xml(value.value)}
    return {f"{name}expr": _segment(code, value)}


def _constant(value: ast.expr) -> str:
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return xml(value.value)
    raise _Other


def _name(target: ast.expr) -> str:
    if isinstance(target, ast.Name):
        return target.id
    raise _Other


def _xml_of(value: ast.expr) -> str | None:
    """The text of `xml('...')`, which stands as it is."""
    match value:
        case ast.Call(ast.Name("xml"), [ast.Constant(str(text))], []):
            return _inline(text)
        case _:
            return None


def _inline(text: str) -> str:
    try:
        return inline_xml(text)
    except ChartSyntaxError:
        raise _Other from None


def _segment(code: str, value: ast.expr) -> str:
    return xml(ast.get_source_segment(code, value) or ast.unparse(value))


def _quoted(text: str) -> str:
    return element("x", {"y": text}, [])[0].removeprefix("<x y=").removesuffix("/>")


# ---------------------------------------------------------------- outputs and invocations


def output_elements(code: str) -> Lines:
    """An output's code as <donedata>."""
    tree = ast.parse(code, mode="eval").body
    try:
        return element("donedata", {}, param_elements(code, tree))
    except _Other:
        return element("donedata", {}, element("content", {"expr": xml(code)}, []))


def invocation_elements(code: str) -> tuple[dict[str, str], Lines] | None:
    """Attributes and content of an <invoke> from the code of its input; None where that is something else."""
    try:
        call = ast.parse(code, mode="eval").body
    except (SyntaxError, ValueError):
        return None
    match call:
        case ast.Call(ast.Name("invoked"), [_], keywords):
            given = {keyword.arg: keyword.value for keyword in keywords if keyword.arg is not None}
        case _:
            return None
    attributes: dict[str, str] = {"type": "scxml"}
    body: Lines = []
    try:
        if "idlocation" in given:
            attributes["idlocation"] = _constant(given["idlocation"])
        if "type" in given:
            del attributes["type"]
            attributes["typeexpr"] = _segment(code, given["type"])
        if "src" in given:
            attributes["srcexpr"] = _segment(code, given["src"])
        if "data" in given:
            body += param_elements(code, given["data"])
        if "content" in given:
            body += _document(code, given["content"])
    except _Other:
        return None
    return attributes, body


def _document(code: str, value: ast.expr) -> Lines:
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return [f"<content>{_inline(value.value)}</content>"]
    return element("content", {"expr": _segment(code, value)}, [])

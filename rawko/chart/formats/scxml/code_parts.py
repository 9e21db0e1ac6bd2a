"""Writes code outside of actions as SCXML elements: a preamble, an output, the input of an invocation."""

from __future__ import annotations

import ast

from rawko.chart.formats.scxml import python_code
from rawko.chart.formats.scxml.code_elements import NoElement, constant, inline, param_elements, segment, xml_of
from rawko.chart.formats.scxml.markup import Lines, element, text_element, xml


def data_elements(preamble: str) -> Lines:
    """A preamble as <datamodel> and <script> elements."""
    lines = preamble.splitlines()
    data: Lines = []
    while lines and (found := _data(lines[0])):
        data += found
        lines.pop(0)
    found_lines = element("datamodel", {}, data) if data else []
    rest = "\n".join(lines)
    return found_lines + ([text_element("script", rest)] if rest else [])


def _data(line: str) -> Lines:
    """A line that declares a variable, as a <data> element."""
    try:
        statements = ast.parse(line).body
    except (SyntaxError, ValueError):
        return []
    if len(statements) != 1 or not isinstance(statements[0], ast.Assign):
        return []
    (target, *others), value = statements[0].targets, segment(line, statements[0].value)
    if others or not isinstance(target, ast.Name) or line != f"{target.id} = {value}":
        return []
    if value == "None":
        return element("data", {"id": target.id}, [])
    try:
        if (inside := xml_of(statements[0].value)) is not None:
            return [f'<data id="{target.id}">{inside}</data>']
    except NoElement:
        return []
    return element("data", {"id": target.id, "expr": xml(value)}, []) if _is_same(value) else []


def _is_same(code: str) -> bool:
    return python_code.expression(code) == code


def output_elements(code: str) -> Lines:
    """An output's code as a <donedata> element."""
    tree = ast.parse(code, mode="eval").body
    try:
        return element("donedata", {}, param_elements(code, tree))
    except NoElement:
        return element("donedata", {}, element("content", {"expr": xml(code)}, []))


def invocation_elements(code: str) -> tuple[dict[str, str], Lines] | None:
    """Attributes and content of an <invoke>, from the code of its input; None if the code has another form."""
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
            attributes["idlocation"] = constant(given["idlocation"])
        if "type" in given:
            del attributes["type"]
            attributes["typeexpr"] = segment(code, given["type"])
        if "src" in given:
            attributes["srcexpr"] = segment(code, given["src"])
        if "data" in given:
            body += param_elements(code, given["data"])
        if "content" in given:
            body += _document(code, given["content"])
    except NoElement:
        return None
    return attributes, body


def _document(code: str, value: ast.expr) -> Lines:
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return [f"<content>{inline(value.value)}</content>"]
    return element("content", {"expr": segment(code, value)}, [])

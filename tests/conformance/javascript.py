"""SCION's documents, respelled for the data model `python`: their few JavaScript expressions as Python's.

Literals, names, operators, comparisons, member access, `Math.pow`, `JSON.stringify`, assignments and functions without
parameters. What goes beyond that is left as it is: no Python, hence an error where the machine reaches it.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

SCXML = "{http://www.w3.org/2005/07/scxml}"
EXPRESSIONS = ("cond", "expr", "array", "eventexpr", "targetexpr", "delayexpr", "sendidexpr")

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<string>'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")
    |(?P<number>\d+(?:\.\d+)?)
    |(?P<word>[A-Za-z_$][\w$]*)
    |(?P<mark>===|!==|==|!=|<=|>=|&&|\|\||[-+*/%<>!().,\[\]{}:])
    )""",
    re.VERBOSE,
)
_WORDS = {"true": "True", "false": "False", "null": "None", "undefined": "None"}
_MARKS = {"===": "==", "!==": "!=", "&&": " and ", "||": " or ", "!": " not "}
_FUNCTIONS = {"Math.pow": "pow", "JSON.stringify": "str"}

_ASSIGNMENT = re.compile(r"([A-Za-z_$][\w$]*)\s*(?:=(?!=)|\+=|-=|\*=)")
_FUNCTION = re.compile(r"function\s+(\w+)\s*\(\s*\)\s*\{([^{}]*)\}")
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def respelled(path: Path) -> str:
    """A document with its expressions and scripts in Python."""
    tree = ElementTree.fromstring(path.read_text("utf-8"))
    for element in tree.iter():
        for name in EXPRESSIONS:
            if name in element.attrib:
                element.attrib[name] = expression(element.attrib[name])
        if element.tag == f"{SCXML}script":
            _respell_script(element, path.parent)
    return ElementTree.tostring(tree, encoding="unicode", default_namespace=None)


def expression(text: str) -> str:
    """A JavaScript expression as Python's; unchanged where it cannot be told."""
    found = _tokens(text)
    try:
        tree = ast.parse(found, mode="eval")
    except SyntaxError:
        return text
    return ast.unparse(_Texts().visit(tree))


def _tokens(text: str) -> str:
    parts: list[str] = []
    position, text = 0, text.strip()
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            return text
        position = found.end()
        word, mark = found["word"], found["mark"]
        if word is not None and text[position:].lstrip()[:1] == ":":
            parts.append(repr(word))  # a key of an object literal
        elif word is not None:
            parts.append(f" {_WORDS.get(word, word.replace('$', '_dollar_'))} ")
        else:
            parts.append(_MARKS.get(mark, mark) if mark is not None else found[0].strip())
    return "".join(parts).strip()


class _Texts(ast.NodeTransformer):
    """`+` with a text makes a text; functions of JavaScript's library become Python's."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Add) and (_is_text(node.left) or _is_text(node.right)):
            return ast.BinOp(_as_text(node.left), node.op, _as_text(node.right))
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = _FUNCTIONS.get(ast.unparse(node.func))
        return node if name is None else ast.Call(ast.Name(name, ast.Load()), node.args, node.keywords)


def _is_text(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp):
        return _is_text(node.left) or _is_text(node.right)
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _as_text(node: ast.expr) -> ast.expr:
    return node if _is_text(node) else ast.Call(ast.Name("str", ast.Load()), [node], [])


def _respell_script(element: Element, folder: Path) -> None:
    source = element.attrib.pop("src", None)
    text = (folder / source).read_text("utf-8") if source else element.text or ""
    element.text = "\n" + "\n".join(_script(_COMMENT.sub("", text)))


def _script(text: str) -> list[str]:
    lines: list[str] = []
    for name, body in _FUNCTION.findall(text):
        statements = _statements(body)
        changed = sorted({found[1] for line in statements if (found := _ASSIGNMENT.match(line))})
        lines += [f"def {name}():", *(f"    global {variable}" for variable in changed)]
        lines += [f"    {line}" for line in statements] or ["    pass"]
    return lines + _statements(_FUNCTION.sub("", text))


def _statements(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.split(";") if line.strip()]

"""YAML files into checked data: every defect with its file, line and column, what was found, what is accepted.

For agents, configuration and scenarios. The YAML itself is read by `rawko.chart.yaml_nodes` (nothing in it can run,
hang or grow); the shapes are pydantic models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from rawko.chart.errors import ChartError
from rawko.chart.yaml_nodes import MappingNode, Node, NotJsonError, SequenceNode, compose, decode, to_json

M = TypeVar("M", bound=BaseModel)
MAX_SHOWN = 60


@dataclass(frozen=True, slots=True, order=True)
class Defect:
    """One thing wrong with a file. Line and column count from 1."""

    source: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"{self.source}:{self.line}:{self.column}: {self.message}"


class DocumentError(ValueError):
    """A file cannot be used. `defects` holds every one found, in the file's order."""

    def __init__(self, defects: Iterable[Defect]) -> None:
        self.defects = tuple(defects)
        super().__init__("\n".join(map(str, self.defects)))


def load_document(path: Path, model: type[M]) -> M:
    """The checked data of a file.

    Raises:
        DocumentError: It cannot be read, is not UTF-8 or not YAML, or does not fit the model.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DocumentError([Defect(str(path), 1, 1, f"cannot be read: {error.strerror}")]) from error
    try:
        text = decode(data, str(path))
    except ChartError as error:
        raise _of_chart_error(error) from None
    return parse_document(text, model, source=str(path))


def parse_document(text: str, model: type[M], *, source: str) -> M:
    """The checked data of a text; an empty one is an empty mapping.

    Raises:
        DocumentError: As `load_document`.
    """
    if not any(line.strip() and not line.lstrip().startswith("#") for line in text.splitlines()):
        return _checked(model, {}, None, source)
    try:
        document = compose(text, source)
    except ChartError as error:
        raise _of_chart_error(error) from None
    if document.diagnostics:
        raise _of_chart_error(ChartError(document.diagnostics))
    try:
        data = to_json(document.root)
    except NotJsonError as error:
        raise DocumentError([Defect(source, 1, 1, str(error))]) from error
    return _checked(model, data, document.root, source)


def _checked(model: type[M], data: Any, root: Node | None, source: str) -> M:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        defects = {_defect(item, model, root, source) for item in error.errors(include_url=False)}
        raise DocumentError(sorted(defects)) from error


def _of_chart_error(error: ChartError) -> DocumentError:
    return DocumentError(
        Defect(d.position.file, d.position.line, d.position.column, d.message) for d in error.diagnostics
    )


def _place(root: Node | None, path: tuple[str | int, ...], *, of_key: bool) -> tuple[int, int]:
    """Where a path stands, or its nearest ancestor that is there."""
    if root is None:
        return (1, 1)
    node, place = root, (root.line, root.column)
    for number, part in enumerate(path):
        if isinstance(node, MappingNode) and isinstance(part, str) and part in node.entries:
            key, node = node.entries[part]
            is_last = number == len(path) - 1
            place = (key.line, key.column) if of_key and is_last else (node.line, node.column)
        elif isinstance(node, SequenceNode) and isinstance(part, int) and part < len(node.items):
            node = node.items[part]
            place = (node.line, node.column)
    return place


def _defect(item: Mapping[str, Any], model: type[BaseModel], root: Node | None, source: str) -> Defect:
    kind, path = item["type"], tuple(item["loc"])
    line, column = _place(root, path, of_key=kind == "extra_forbidden")
    if kind == "extra_forbidden":
        message = f"unknown key {path[-1]!r}{accepted(_fields(model, path[:-1]), found=path[-1])}"
    else:
        message = _MESSAGES.get(kind, _wrong_value)(item)
    return Defect(source, line, column, message)


def _fields(model: Any, path: tuple[str | int, ...]) -> tuple[str, ...]:
    """Fields of the model at a path."""
    for part in path:
        if isinstance(part, str) and part in getattr(model, "model_fields", {}):
            model = _model_in(model.model_fields[part].annotation) or model
    return tuple(getattr(model, "model_fields", {}))


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _model_in(part))), None)


def accepted(names: Iterable[str], *, found: object = None) -> str:
    """The end of a message: "; did you mean 'x'? accepted: 'x', 'y'"."""
    listed = tuple(names)
    near = get_close_matches(found, listed, 1) if isinstance(found, str) else []
    hint = f"; did you mean {near[0]!r}? " if near else "; "
    return f"{hint}accepted: {', '.join(map(repr, listed)) or 'nothing'}"


def _where(item: Mapping[str, Any]) -> str:
    names = [part for part in item["loc"] if isinstance(part, str)]
    return repr(names[-1]) if names else "the file"


def _show(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= MAX_SHOWN else f"{shown[: MAX_SHOWN - 3]}..."


def _missing(item: Mapping[str, Any]) -> str:
    return f"key {item['loc'][-1]!r} is missing"


def _not_one_of(item: Mapping[str, Any]) -> str:
    names = str(item["ctx"]["expected"]).replace("'", "").replace(" or ", ", ").split(", ")
    return f"{_where(item)}: {_show(item['input'])} is not accepted{accepted(names, found=item['input'])}"


def _pattern(item: Mapping[str, Any]) -> str:
    return f"{_where(item)}: found {_show(item['input'])}; accepted: text that matches {item['ctx']['pattern']}"


def _wrong_type(wanted: str) -> Callable[[Mapping[str, Any]], str]:
    return lambda item: f"{_where(item)}: found {_show(item['input'])}; accepted: {wanted}"


def _wrong_value(item: Mapping[str, Any]) -> str:
    rule = str(item["msg"])
    return f"{_where(item)}: found {_show(item['input'])}; {rule[0].lower()}{rule[1:]}"


_MESSAGES: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "missing": _missing,
    "literal_error": _not_one_of,
    "string_pattern_mismatch": _pattern,
    "string_type": _wrong_type("text (quote numbers and booleans)"),
    "dict_type": _wrong_type("a mapping"),
    "model_type": _wrong_type("a mapping"),
    "tuple_type": _wrong_type("a list"),
    "list_type": _wrong_type("a list"),
    "int_type": _wrong_type("a whole number"),
    "int_parsing": _wrong_type("a whole number"),
    "bool_type": _wrong_type("true or false"),
    "bool_parsing": _wrong_type("true or false"),
}

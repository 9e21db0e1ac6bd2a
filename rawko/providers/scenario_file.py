"""Scenarios by name or path, and from text: found, read, checked. The format itself is `scenario`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from rawko.providers.scenario import (
    Expect,
    Reply,
    Scenario,
    ScenarioDoc,
    ScriptedCall,
    ScriptedError,
    ScriptedUsage,
)
from rawko.providers.scenario_errors import (
    Defect,
    ScenarioError,
    ScenarioNotFoundError,
    accepted,
)
from rawko.providers.scenario_yaml import Document, read_document

SCENARIO_DIR = Path(__file__).parent / "scenarios"
SUFFIXES = (".yaml", ".yml")


def shipped_scenarios() -> tuple[str, ...]:
    """Names of the scenarios that come with rawko, sorted."""
    return tuple(sorted(path.stem for path in SCENARIO_DIR.glob("*.yaml")))


def find_scenario(name: str) -> Path:
    """The file of a scenario: a path where `name` has a folder or a YAML suffix, else a shipped name.

    Raises:
        ScenarioNotFoundError: Neither; the message lists the shipped names, nearest first.
    """
    if "/" in name or name.endswith(SUFFIXES):
        path = Path(name)
        if path.is_file():
            return path
        raise ScenarioNotFoundError(name, f"there is no scenario file {name!r}")
    if name in shipped_scenarios():
        return SCENARIO_DIR / f"{name}.yaml"
    raise ScenarioNotFoundError(name, _unknown_name(name))


def _unknown_name(name: str) -> str:
    names = shipped_scenarios()
    return (
        f"there is no scenario named {name!r}{accepted(names, found=name, label='shipped')}; "
        "also accepted: the path of a YAML file"
    )


def load_scenario(name: str | Path) -> Scenario:
    """A checked scenario, by shipped name or path.

    Raises:
        ScenarioError: It is not there, cannot be read as UTF-8, or has defects (all of them are told).
    """
    path = name if isinstance(name, Path) else find_scenario(name)
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        defect = Defect(str(path), 1, 1, f"not UTF-8 text (byte {error.start})")
        raise ScenarioError((defect,)) from error
    except OSError as error:
        raise ScenarioNotFoundError(str(path), f"cannot read {str(path)!r}: {error.strerror}") from error
    return parse_scenario(text, source=str(path))


def parse_scenario(text: str, *, source: str = "<scenario>") -> Scenario:
    """A checked scenario from its text.

    Args:
        text: YAML.
        source: File name for messages.

    Raises:
        ScenarioError: With every defect, in the file's order.
    """
    document = read_document(text, source)
    try:
        doc = ScenarioDoc.model_validate(document.data)
    except ValidationError as error:
        defects = {_defect(source, document, item) for item in error.errors(include_url=False)}
        raise ScenarioError(tuple(sorted(defects, key=lambda d: (d.line, d.column, d.message)))) from error
    lines = tuple(document.place(("replies", index))[0] for index in range(len(doc.replies)))
    return Scenario(doc=doc, source=source, lines=lines)


_MODELS: Mapping[tuple[str, ...], type[BaseModel]] = {
    (): ScenarioDoc,
    ("replies",): Reply,
    ("replies", "tool_calls"): ScriptedCall,
    ("replies", "usage"): ScriptedUsage,
    ("replies", "error"): ScriptedError,
    ("replies", "expect"): Expect,
}
"""Which model reads which part of the file; list indices are left out."""


def _defect(source: str, document: Document, item: Mapping[str, Any]) -> Defect:
    kind, path = item["type"], tuple(item["loc"])
    line, column = document.place(path, of_key=kind == "extra_forbidden")
    tell = _MESSAGES.get(kind, _wrong_value)
    return Defect(source, line, column, tell(item))


def _unknown_key(item: Mapping[str, Any]) -> str:
    *parents, key = item["loc"]
    keys = tuple(_MODELS[tuple(part for part in parents if isinstance(part, str))].model_fields)
    return f"unknown key {key!r}{accepted(keys, found=key, label='accepted here')}"


def _missing_key(item: Mapping[str, Any]) -> str:
    return f"key {item['loc'][-1]!r} is missing"


def _not_one_of(item: Mapping[str, Any]) -> str:
    names = str(item["ctx"]["expected"]).replace("'", "").replace(" or ", ", ").split(", ")
    found = item["input"]
    return f"{_where(item)}: {_show(found)} is not accepted{accepted(names, found=found)}"


def _own_words(item: Mapping[str, Any]) -> str:
    return str(item["ctx"]["error"])


def _wrong_type(wanted: str) -> Callable[[Mapping[str, Any]], str]:
    return lambda item: f"{_where(item)}: found {_show(item['input'])}; accepted: {wanted}"


def _wrong_value(item: Mapping[str, Any]) -> str:
    rule = str(item["msg"])
    return f"{_where(item)}: found {_show(item['input'])}; {rule[0].lower()}{rule[1:]}"


_MESSAGES: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "extra_forbidden": _unknown_key,
    "missing": _missing_key,
    "literal_error": _not_one_of,
    "value_error": _own_words,
    "string_type": _wrong_type("text (quote numbers and booleans)"),
    "dict_type": _wrong_type("a mapping"),
    "model_type": _wrong_type("a mapping"),
    "tuple_type": _wrong_type("a list"),
    "int_type": _wrong_type("a whole number"),
    "bool_type": _wrong_type("true or false"),
}


def _where(item: Mapping[str, Any]) -> str:
    names = [part for part in item["loc"] if isinstance(part, str)]
    return repr(names[-1]) if names else "the file"


def _show(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."

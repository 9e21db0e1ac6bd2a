"""Prompt templates: loaded and checked once, rendered from data in a single pass.

Templates are Jinja2, because people read and edit them, but only the part of it that shows data: names, fields,
`if`, `for` and a few filters. Everything else (arithmetic, calls, imports, macros) is refused when a template is
loaded, so that no template can run code, hang or fill the memory, whoever wrote it. Data never becomes template
text: what a task says in braces stays what it says (C-44).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from rawko.chart import shipped_path

if TYPE_CHECKING:
    from jinja2 import Template, nodes
    from jinja2.sandbox import SandboxedEnvironment

SUFFIX: Final = ".md.j2"
MAX_TEMPLATE_CHARS: Final = 200_000
MAX_PROMPT_CHARS: Final = 4_000_000

_NODES: Final = frozenset(
    {
        "Template", "Output", "TemplateData", "Name", "Const", "Getattr", "Getitem", "If", "For", "CondExpr",
        "Filter", "Test", "Compare", "Operand", "And", "Or", "Not",
    }
)  # fmt: skip
_FILTERS: Final = frozenset({"default", "delimited", "first", "join", "last", "length", "lower", "trim", "upper"})
_EACH: Final = "-each"
"""A filter that no template can name."""
_TESTS: Final = frozenset({"none"})
_LOOP_FIELDS: Final = frozenset({"index", "index0", "first", "last", "length"})
_MAX_LOOP_DEPTH: Final = 3

# C0 and C1 controls but tab and newline (terminal escapes hide or fake text), and halves of surrogate pairs, which
# cannot be sent as UTF-8.
_CONTROLS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


class PromptError(Exception):
    """A template that cannot be used, or data that does not fit it.

    Attributes:
        where: The file, with the line where that is known.
    """

    def __init__(self, where: str, message: str) -> None:
        super().__init__(f"{where}: {message}")
        self.where = where
        self.message = message


class Templates(Protocol):
    """Templates of the user's own, `<machine>/<name>.md.j2`, wherever they are read from."""

    def names(self, machine: str) -> Sequence[str]:
        """Names of all files of a machine."""

    def text(self, machine: str, name: str) -> str | None:
        """The text of one; None where there is none."""

    def place(self, machine: str, name: str) -> str:
        """Where it is, for messages."""


@dataclass(frozen=True, slots=True)
class _Loaded:
    template: Template
    file: str


class Prompts:
    """The templates of one machine."""

    def __init__(self, loaded: Mapping[str, _Loaded], placeholders: Mapping[str, frozenset[str]]) -> None:
        self._loaded = loaded
        self._placeholders = placeholders

    @classmethod
    def load(
        cls,
        machine: str,
        placeholders: Mapping[str, frozenset[str]],
        *,
        override: Path | Templates | None = None,
        shipped: Path | None = None,
    ) -> Prompts:
        """Read and check all templates of a machine.

        Args:
            machine: Its stem: templates are `<machine>/<name>.md.j2` in either folder.
            placeholders: Template name to the names that its data has; a template may use them and no others.
            override: Templates of the user's own, or their folder; one there stands in for the shipped one.
            shipped: The folder of the shipped ones; found by itself.

        Raises:
            PromptError: A template is missing, is no UTF-8, is no template, uses a placeholder that its data does
                not have or a part of Jinja2 that is not accepted; or `override` holds one that nothing uses.

        Source: C-44.
        """
        places: list[Templates] = [_Folder(shipped or shipped_path("prompts"))]
        if override is not None:
            places.insert(0, _Folder(override) if isinstance(override, Path) else override)
            _check_names(places[0], machine, placeholders)
        loaded = {name: _load(places, machine, name + SUFFIX, accepted) for name, accepted in placeholders.items()}
        return cls(loaded, dict(placeholders))

    def render(self, name: str, /, **data: Any) -> str:
        """A prompt.

        Args:
            name: Of the template.
            data: Exactly its placeholders, as JSON values; control characters in it are dropped.

        Raises:
            PromptError: The data lacks a placeholder or has another; a field does not exist; the prompt grows over
                `MAX_PROMPT_CHARS`.
        """
        from jinja2.exceptions import TemplateError

        loaded = self._loaded[name]
        _check_data(loaded.file, data, self._placeholders[name])
        try:
            return _bounded(loaded.file, loaded.template.generate(_clean(data)))
        except TemplateError as error:
            raise PromptError(loaded.file, str(error)) from error


def delimited(text: str, name: str = "text") -> str:
    """The text as a block that it cannot close itself: the closing mark depends on the whole text.

    `<task-4f1c9a20>` ... `</task-4f1c9a20>`; the same text always gives the same mark.
    """
    number = 0
    while True:
        mark = f"{name}-{hashlib.sha256(f'{number}:{text}'.encode()).hexdigest()[:8]}"
        if mark not in text:
            return f"<{mark}>\n{text}\n</{mark}>"
        number += 1


# ---------------------------------------------------------------- loading


@dataclass(frozen=True, slots=True)
class _Folder:
    """Templates in a folder."""

    root: Path

    def names(self, machine: str) -> Sequence[str]:
        return sorted(path.name for path in (self.root / machine).glob(f"*{SUFFIX}"))

    def text(self, machine: str, name: str) -> str | None:
        path = self.root / machine / name
        if not path.is_file():
            return None
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise PromptError(str(path), f"cannot be read: {error}") from error

    def place(self, machine: str, name: str) -> str:
        return str(self.root / machine / name)


def _check_names(place: Templates, machine: str, placeholders: Mapping[str, frozenset[str]]) -> None:
    known = {name + SUFFIX for name in placeholders}
    for name in place.names(machine):
        if name.endswith(SUFFIX) and name not in known:
            raise PromptError(place.place(machine, name), f"no prompt has this name{_nearest(name, known)}")


def _load(places: Sequence[Templates], machine: str, name: str, accepted: frozenset[str]) -> _Loaded:
    for place in places:
        text = place.text(machine, name)
        if text is not None:
            return _compiled(place.place(machine, name), _bounded_text(place.place(machine, name), text), accepted)
    raise PromptError(places[-1].place(machine, name), "the template is missing")


@lru_cache(maxsize=64)
def _compiled(path: str, text: str, accepted: frozenset[str]) -> _Loaded:
    """A checked template; the same text is compiled once in a process, since that takes longer than all the rest."""
    from jinja2.exceptions import TemplateSyntaxError

    environment = _environment()
    try:
        tree = environment.parse(text)
    except TemplateSyntaxError as error:
        raise PromptError(f"{path}:{error.lineno}", f"not a template: {error.message}") from error
    except RecursionError as error:
        raise PromptError(path, "not a template: nested too deeply") from error
    _check_tree(path, tree, 0)
    _check_placeholders(path, tree, accepted)
    _bound_loops(tree)
    return _Loaded(environment.from_string(tree), path)


def _bounded_text(path: str, text: str) -> str:
    if len(text) > MAX_TEMPLATE_CHARS:
        raise PromptError(path, f"{len(text)} characters are too many; accepted: {MAX_TEMPLATE_CHARS}")
    return text


def _check_placeholders(file: str, tree: nodes.Template, accepted: frozenset[str]) -> None:
    from jinja2 import meta

    for name in sorted(meta.find_undeclared_variables(tree) - accepted):
        raise PromptError(file, f"unknown placeholder {name!r}{_nearest(name, accepted)}")


def _check_tree(file: str, node: nodes.Node, loops: int) -> None:
    kind = type(node).__name__
    where = f"{file}:{node.lineno}"
    if kind not in _NODES:
        raise PromptError(
            where, f"{kind.lower()} is not accepted; templates show data: names, fields, if, for, filters"
        )
    if kind == "For":
        loops += 1
        _check_for(where, node, loops)
    for kinds, accepted in (("Filter", _FILTERS), ("Test", _TESTS)):
        if kind == kinds and node.name not in accepted:  # type: ignore[attr-defined]
            name = node.name  # type: ignore[attr-defined]
            raise PromptError(where, f"unknown {kind.lower()} {name!r}{_nearest(name, accepted)}")
    for child in node.iter_child_nodes():
        _check_tree(file, child, loops)


def _bound_loops(tree: nodes.Template) -> None:
    """Let every `for` go over lists only: over the letters of long texts, nested, it would never end."""
    from jinja2 import nodes

    for loop in tree.find_all(nodes.For):
        loop.iter = nodes.Filter(loop.iter, _EACH, [], [], None, None, lineno=loop.lineno)


def _each(value: Any) -> Any:
    from jinja2.exceptions import TemplateRuntimeError
    from jinja2.runtime import Undefined

    if isinstance(value, (list, Undefined)):
        return value
    raise TemplateRuntimeError(f"for goes over lists, not over a {type(value).__name__}")


def _check_for(where: str, node: Any, loops: int) -> None:
    if node.recursive:
        raise PromptError(where, "a recursive for is not accepted")
    if loops > _MAX_LOOP_DEPTH:
        raise PromptError(where, f"for is nested deeper than {_MAX_LOOP_DEPTH} levels")


def _nearest(name: str, accepted: frozenset[str] | set[str]) -> str:
    near = get_close_matches(name[:200], sorted(accepted), 1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"{hint}; accepted: {', '.join(map(repr, sorted(accepted))) or 'none'}"


def _environment() -> SandboxedEnvironment:
    """Strict and sandboxed; fields are items of mappings and never attributes of Python objects."""
    from jinja2 import StrictUndefined
    from jinja2.runtime import LoopContext
    from jinja2.sandbox import SandboxedEnvironment

    class DataEnvironment(SandboxedEnvironment):
        def getattr(self, obj: Any, attribute: str) -> Any:
            if isinstance(obj, LoopContext) and attribute in _LOOP_FIELDS:
                return getattr(obj, attribute)
            return self.getitem(obj, attribute)

        def getitem(self, obj: Any, argument: Any) -> Any:
            # A plain dict's `items` is the field of that name, not its method.
            if isinstance(obj, dict) and argument in obj:
                return obj[argument]
            if isinstance(obj, (list, tuple)) and isinstance(argument, int) and -len(obj) <= argument < len(obj):
                return obj[argument]
            return self.undefined(obj=obj, name=argument)

    environment = DataEnvironment(
        undefined=StrictUndefined, autoescape=False, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    environment.globals.clear()
    environment.filters = {name: environment.filters[name] for name in _FILTERS if name != "delimited"}
    environment.filters |= {"delimited": delimited, _EACH: _each}
    return environment


# ---------------------------------------------------------------- rendering


def _check_data(file: str, data: Mapping[str, Any], accepted: frozenset[str]) -> None:
    missing, extra = sorted(accepted - set(data)), sorted(set(data) - accepted)
    if missing or extra:
        raise PromptError(file, f"the data lacks {missing} and has {extra} too many; accepted: {sorted(accepted)}")


def _clean(value: Any) -> Any:
    """The data as plain dicts and lists, its texts without control characters; other line ends become newlines."""
    if isinstance(value, str):
        return _CONTROLS.sub("", value.replace("\r\n", "\n").replace("\r", "\n"))
    if isinstance(value, Mapping):
        return {key: _clean(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)) or type(value).__name__ == "Vector":
        return [_clean(item) for item in value]
    return value


def _bounded(file: str, pieces: Iterator[str]) -> str:
    kept: list[str] = []
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > MAX_PROMPT_CHARS:
            raise PromptError(file, f"the prompt grows over {MAX_PROMPT_CHARS} characters")
        kept.append(piece)
    return "".join(kept)

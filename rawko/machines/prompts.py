"""Prompt templates: loaded and checked once, rendered from data in a single pass.

Templates are Jinja2, because people read and edit them, but only the part of it that shows data: names, fields,
`if`, `for` and a few filters. Everything else (arithmetic, calls, imports, macros) is refused when a template is
loaded, so that no template can run code, hang or fill the memory, whoever wrote it. Data never becomes template
text: what a task says in braces stays what it says (C-44).

Nor does data become structure. Every value that a template shows passes one filter (`inline`): its further lines stand
behind a bar, so that none of them starts a heading, a list, a fence or a section; names (`join`, `named`) are in one
line, quoted where they hold what separates them. Two filters say otherwise: `delimited` puts a text verbatim between
marks that no writer of a part of the prompt can know, and `whole` lets through what is structure itself (the user's
own words, an agent's system prompt, a part that was rendered before).
"""

from __future__ import annotations

import hmac
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from rawko.chart import shipped_path
from rawko.vocabulary.visible import visible, visible_json, visible_line

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
_OWN_FILTERS: Final = frozenset({"delimited", "join", "named", "whole"})
_FILTERS: Final = _OWN_FILTERS | {"default", "first", "last", "length", "lower", "trim", "upper"}
_SECRET: Final = "-secret"
"""A placeholder that no template can name."""
_EACH: Final = "-each"
"""A filter that no template can name."""
_TESTS: Final = frozenset({"none"})
_LOOP_FIELDS: Final = frozenset({"index", "index0", "first", "last", "length"})
_MAX_LOOP_DEPTH: Final = 3
_MAX_DEPTH: Final = 40
"""Of conditions, filters and operators inside each other; Python compiles no more than a hundred."""

# C0 and C1 controls but tab and newline (terminal escapes hide or fake text), and halves of surrogate pairs, which
# cannot be sent as UTF-8.
_CONTROLS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_BREAKS: Final = re.compile("\n([ \t]*)")
_MARK_LIKE: Final = re.compile(r"<(?=/?[A-Za-z][A-Za-z_-]*-[0-9A-Fa-f]{4,64}\s*>)")
"""The beginning of what could pass for a section's mark."""
_AT_THE_START: Final = re.compile(r"[ \t]*(?:#|```|~~~|</?[A-Za-z]|[-*_=]{3,}[ \t]*(?:\n|\Z))")
_QUOTED: Final = re.compile("[,;:\"'`\\\\\\[\\](){}<>*#|\x00-\x1f\x7f-\x9f\ud800-\udfff]|^\\s|\\s\\Z|^\\Z")
_INDENT: Final = 4


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
    file: str
    text: str
    accepted: frozenset[str]

    def template(self) -> Template:
        """The template, checked."""
        return _compiled(self.file, self.text, self.accepted)


class Prompts:
    """The templates of one machine."""

    def __init__(
        self, loaded: Mapping[str, _Loaded], placeholders: Mapping[str, frozenset[str]], key: bytes = b""
    ) -> None:
        self._loaded = loaded
        self._placeholders = placeholders
        self._key = key

    @classmethod
    def load(
        cls,
        machine: str,
        placeholders: Mapping[str, frozenset[str]],
        *,
        override: Path | Templates | None = None,
        shipped: Path | None = None,
        key: bytes = b"",
        is_lazy: bool = False,
    ) -> Prompts:
        """Read all templates of a machine, and check those that are not the package's own: these are tested, and are
        compiled when they are first used.

        Args:
            machine: Its stem: templates are `<machine>/<name>.md.j2` in either folder.
            placeholders: Template name to the names that its data has; a template may use them and no others.
            override: Templates of the user's own, or their folder; one there stands in for the shipped one.
            shipped: The folder of the shipped ones; found by itself.
            key: The run's own secret, from which marks are made: they cannot be guessed without it. The same key and
                data give the same prompt.
            is_lazy: Check a template when it is first rendered: for machines that are only looked at, and render none.

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
        own = f"{shipped_path('prompts')}{os.sep}"
        for one in loaded.values():
            if not is_lazy and not one.file.startswith(own):
                one.template()
        return cls(loaded, dict(placeholders), key)

    def render(self, name: str, /, **data: Any) -> str:
        """A prompt.

        Args:
            name: Of the template.
            data: Exactly its placeholders, as JSON values; control characters in texts are dropped, in names escaped.

        Raises:
            PromptError: The data lacks a placeholder or has another; a field does not exist; the prompt grows over
                `MAX_PROMPT_CHARS`.
        """
        from jinja2.exceptions import TemplateError

        loaded = self._loaded[name]
        template = loaded.template()
        _check_data(loaded.file, data, self._placeholders[name])
        try:
            cleaned = _clean(data)
            given = {**cleaned, _SECRET: self._secret(name, cleaned)}
            return _bounded(loaded.file, template.generate(given))
        except TemplateError as error:
            raise PromptError(loaded.file, str(error)) from error
        except RecursionError as error:
            raise PromptError(loaded.file, "the data is nested too deeply") from error

    def _secret(self, name: str, data: Mapping[str, Any]) -> bytes:
        """A secret for this very prompt: its marks depend on all that is in it, so that no earlier prompt, nor the
        part of it that a writer knows, gives one away."""
        told = json.dumps([name, data], sort_keys=True, default=str)
        return hmac.digest(self._key, told.encode(), "sha256")


class Whole(str):
    """Text that is shown as it is: it is structure itself, or stands between marks."""

    __slots__ = ()


def delimited(text: str, name: str = "text", secret: bytes = b"") -> Whole:
    """The text as a block that it cannot close itself: its writer does not know the mark, and what looks like a mark
    in it is broken up (`<\\task-...>`).

    `<task-4f1c9a20>` ... `</task-4f1c9a20>`; the same text and secret always give the same mark.
    """
    text = _unmarked(text)
    number = 0
    while True:
        told = f"{number}:{name}:{text}".encode("utf-8", "surrogatepass")
        mark = f"{name}-{hmac.digest(secret, told, 'sha256').hex()[:8]}"
        if mark not in text:
            return Whole(f"<{mark}>\n{text}\n</{mark}>")
        number += 1


def inline(value: Any) -> Any:
    """A value as it may stand in a line of a prompt: none of its lines is one of the prompt's own.

    A further line stands behind a bar, in its own indentation; so does the first where it would start a heading, a
    fence or a mark. What nobody can see in it is escaped.
    """
    if not isinstance(value, str) or isinstance(value, Whole):
        return value
    text = visible(_unmarked(_plain(value)))
    text = _BREAKS.sub(lambda found: f"\n{found[1] or ' ' * _INDENT}| ", text)
    return f"| {text}" if _AT_THE_START.match(text) else text


def listed(values: Any, separator: str = ", ") -> Whole:
    """Names in one line, each as `named` writes it."""
    return Whole(separator.join(named(value) for value in values))


def named(value: Any) -> Whole:
    """A name as it is, or quoted as JSON where it holds what could pass for something else or cannot be seen."""
    name = str(value)
    return Whole(visible_json(_unmarked(name)) if _QUOTED.search(name) else visible_line(name))


def _plain(text: str) -> str:
    """The text without control characters; other line ends become newlines."""
    return _CONTROLS.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def _unmarked(text: str) -> str:
    return _MARK_LIKE.sub(r"<\\", text)


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
            where = place.place(machine, name)
            return _Loaded(where, _bounded_text(where, text), accepted)
    raise PromptError(places[-1].place(machine, name), "the template is missing")


@lru_cache(maxsize=64)
def _compiled(path: str, text: str, accepted: frozenset[str]) -> Template:
    """A checked template; the same text is compiled once in a process, since that takes longer than all the rest."""
    from jinja2.exceptions import TemplateSyntaxError

    environment = _environment()
    try:
        tree = environment.parse(text)
    except TemplateSyntaxError as error:
        raise PromptError(f"{path}:{error.lineno}", f"not a template: {error.message}") from error
    except RecursionError as error:
        raise PromptError(path, "not a template: nested too deeply") from error
    try:
        _check_tree(path, tree, 0)
        _check_placeholders(path, tree, accepted)
        _bound_loops(tree)
        return environment.from_string(tree)
    except RecursionError as error:
        raise PromptError(path, "not a template: nested too deeply") from error


def _bounded_text(path: str, text: str) -> str:
    if len(text) > MAX_TEMPLATE_CHARS:
        raise PromptError(path, f"{len(text)} characters are too many; accepted: {MAX_TEMPLATE_CHARS}")
    return text


def _check_placeholders(file: str, tree: nodes.Template, accepted: frozenset[str]) -> None:
    from jinja2 import meta

    for name in sorted(meta.find_undeclared_variables(tree) - accepted):
        raise PromptError(file, f"unknown placeholder {name!r}{_nearest(name, accepted)}")


def _check_tree(file: str, node: nodes.Node, loops: int, depth: int = 0) -> None:
    kind = type(node).__name__
    where = f"{file}:{node.lineno}"
    if depth > _MAX_DEPTH:
        raise PromptError(where, f"nested deeper than {_MAX_DEPTH} levels")
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
        _check_tree(file, child, loops, depth + 1)


def _bound_loops(tree: nodes.Template) -> None:
    """Let every `for` go over lists only: over the letters of long texts, nested, it would never end."""
    from jinja2 import nodes

    for loop in tree.find_all(nodes.For):
        loop.iter = nodes.Filter(loop.iter, _EACH, [], [], None, None, lineno=loop.lineno)


def _whole(value: Any) -> Whole:
    return Whole(_plain(str(value)))


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
    from jinja2 import StrictUndefined, pass_context
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

    @pass_context
    def between_marks(context: Any, text: Any, name: str = "text") -> Whole:
        return delimited(_plain(str(text)), name, context.resolve(_SECRET))

    environment = DataEnvironment(
        finalize=inline,
        undefined=StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals.clear()
    environment.filters = {name: environment.filters[name] for name in _FILTERS - _OWN_FILTERS}
    environment.filters |= {"delimited": between_marks, "join": listed, "named": named, "whole": _whole, _EACH: _each}
    return environment


# ---------------------------------------------------------------- rendering


def _check_data(file: str, data: Mapping[str, Any], accepted: frozenset[str]) -> None:
    missing, extra = sorted(accepted - set(data)), sorted(set(data) - accepted)
    if missing or extra:
        raise PromptError(file, f"the data lacks {missing} and has {extra} too many; accepted: {sorted(accepted)}")


def _clean(value: Any) -> Any:
    """The data as plain dicts, lists and texts; what cannot be shown of a text, its filter decides."""
    if isinstance(value, str):
        return str(value)
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

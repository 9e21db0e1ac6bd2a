"""The bindings module that a project names for a chart: requests trust for it, and imports it once it is trusted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rawko.chart.definition import Chart
from rawko.interpreter.bindings import Bindings
from rawko.runtime.bindings_lookup import NamedBindings, load_bindings, name_bindings
from rawko.runtime.errors import BindingsNotFound
from rawko.trust.errors import ConfinedError
from rawko.trust.items import Item, hash_of
from rawko.trust.project import Project
from rawko.trust.python_code import Code, find_code, importing


def project_bindings(
    project: Project, chart: Chart, *, module: str | None = None, start: Path | None = None
) -> Bindings | None:
    """The bindings of a chart: named by the user, part of rawko, or of the project if it is trusted; None without any.

    Args:
        module: The module that the user names (`--bindings`); it overrides every other.

    Raises:
        BindingsNotFound: As `find_bindings`.
        NotTrusted: The project names a module and the user does not trust it.
    """
    named = named_bindings(project, chart, module=module, start=start)
    if named is None or named.project is None:
        return None if named is None else load_bindings(named.module, named.folder, named.whose)
    item, code = bindings_item(project, chart, named)
    project.require([item])
    return load_bindings(named.module, named.folder, named.whose, importing(code))


def named_bindings(
    project: Project, chart: Chart, *, module: str | None = None, start: Path | None = None
) -> NamedBindings | None:
    """The module that is named for a chart; a pyproject.toml is read as a file of the project. Nothing is executed.

    Raises:
        BindingsNotFound: The table is malformed, or the file cannot be read.
    """
    return name_bindings(chart, module=module, start=start, read=reader_of(project))


def reader_of(project: Project) -> Callable[[Path], bytes]:
    """A function that reads a pyproject.toml, confined to its folder."""

    def read(path: Path) -> bytes:
        try:
            data = project.at(path.parent).files.read(path.name)
        except ConfinedError as error:
            raise BindingsNotFound(str(error)) from error
        if data is None:
            raise BindingsNotFound(f"{path}: the file was removed while it was being read")
        return data

    return read


def bindings_item(project: Project, chart: Chart, named: NamedBindings) -> tuple[Item, Code]:
    """The request for trust that a module named for a chart makes, and the code that would be imported.

    Raises:
        ConfigError: The path of a module leads out of its folder.
    """
    assert named.project is not None, "what the user names needs no trust"
    code = find_code(project.at(named.folder).files, [named.module])
    shown = _shown(project, Path(chart.file).absolute())
    lies = f"with {', '.join(code.files)}" if code.sources else "an installed one"
    text = f"the Python module {named.module!r} runs as the bindings of {shown} ({lies})"
    content = hash_of([named.module, code.content])
    place = _shown(project, named.project)
    return Item("bindings", f"bindings.{shown}", text, place, _line_of(project, named), content), code


def _shown(project: Project, path: Path) -> str:
    return project.files.relative(path) or str(path)


def _line_of(project: Project, named: NamedBindings) -> int | None:
    """The first line of pyproject.toml with the module's name in quotes."""
    assert named.project is not None
    lines = reader_of(project)(named.project).decode("utf-8", "replace").splitlines()
    marks = (f'"{named.module}"', f"'{named.module}'")
    return next((number for number, line in enumerate(lines, 1) if any(mark in line for mark in marks)), None)

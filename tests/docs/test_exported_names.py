"""The public names are there, load lazily, and are the documented ones."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import rawko


def test_all_names_resolve() -> None:
    for name in rawko.__all__:
        assert getattr(rawko, name) is not None


def test_all_is_what_is_lazy() -> None:
    assert sorted(rawko.__all__) == sorted(rawko._LAZY)


def test_an_unknown_name_is_an_attribute_error() -> None:
    try:
        rawko.nothing  # noqa: B018
    except AttributeError as error:
        assert "nothing" in str(error)
    else:
        raise AssertionError("no error")


def test_no_lazy_name_is_that_of_a_module_beside_it() -> None:
    """The import of `package.name` as a module would put the module in the place of the public name."""
    root = Path(rawko.__file__).parent
    lazy = 0
    for init in root.glob("*/__init__.py"):
        package = import_module(f"rawko.{init.parent.name}")
        if "__getattr__" not in vars(package):
            continue
        lazy += 1
        beside = {path.stem for path in init.parent.iterdir()}
        names = {*vars(package).get("__all__", ())}
        names.update(*vars(package).get("_HOMES", {}).values())
        assert names and not beside & names, package
    assert lazy >= 5


def test_importing_rawko_loads_nothing_heavy() -> None:
    heavy = ["anthropic", "pydantic", "sqlalchemy", "textual", "starlette", "sismic", "yaml", "jinja2", "structlog"]
    code = f"import sys, rawko; print([m for m in {heavy!r} if m in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_help_loads_no_engine() -> None:
    heavy = ["anthropic", "pydantic", "sismic", "pygit2", "jinja2"]
    code = (
        "import sys\nfrom rawko.cli import main\nsys.argv = ['rawko', '--help']\n"
        f"try:\n    main()\nexcept SystemExit:\n    pass\nprint([m for m in {heavy!r} if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip().splitlines()[-1] == "[]"

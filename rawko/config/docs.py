"""Tables of the documentation generated from tables in the code: `python -m rawko.config.docs` writes them.

Each table replaces the text between two comments, such as `<!-- settings: begin -->` and `<!-- settings: end -->`; the
rest of the page is unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from rawko.config.row import Row, leaves, rows
from rawko.config.settings import OTHER_VARIABLES, Settings
from rawko.patterns.exclusions import exclusions_table

FOLDER: Final = Path(__file__).parents[2] / "docs"


def layers_table() -> str:
    """A Markdown table: where each setting can be written, and its default."""
    lines = ["| `.rawko/config.yaml` | environment | flag | default |", "|---|---|---|---|"]
    lines += [_layers(row) for row in rows(Settings) if row.key or row.setting.env or row.setting.flag]
    lines += [_line("", names, "", default) for names, default in OTHER_VARIABLES.items()]
    return "\n".join(lines) + "\n"


def _layers(row: Row) -> str:
    parts = row.setting.parts
    key = f"`{row.key}: {{{', '.join(parts)}}}`" if parts else f"`{row.key}`" if row.key else ""
    note = f"({row.setting.note})" if row.setting.note else ""
    env = f"`{row.setting.env}`" if row.setting.env else ""
    if env and row.type == "bool":
        env += " (`1`, `0`)"
    flags = ", ".join(_flags(row))
    default = row.setting.shown or ("" if row.default in (None, False) else str(row.default))
    if not key:
        return _line("", env, _joined(flags, note), default)
    return _line(_joined(key, note), env, flags, default)


def _joined(*words: str) -> str:
    return " ".join(filter(None, words))


def _line(*cells: str) -> str:
    return f"|{'|'.join(f' {cell} ' if cell else ' ' for cell in cells)}|"


def _flags(row: Row) -> Iterator[str]:
    for setting in (row.setting, *row.setting.parts.values()):
        if setting.flag is not None:
            yield from (f"`{name}`" for name in setting.flag.names)


def trust_table() -> str:
    """A Markdown table: what a project's file may do with each setting, and why."""
    lines = ["| setting of `.rawko/config.yaml` | standing | why |", "|---|---|---|"]
    lines += [f"| `{row.key}` | {row.setting.standing} | {row.setting.why} |" for row in leaves(Settings) if row.key]
    return "\n".join(lines) + "\n"


TABLES: Final[Mapping[tuple[str, str], Callable[[], str]]] = {
    ("command-line.md", "settings"): layers_table,
    ("trust.md", "settings"): trust_table,
    ("time-travel.md", "exclusions"): exclusions_table,
}
"""The functions that make the tables, by page and by the name in the comments around the table."""


def with_table(page: str, name: str, table: str) -> str:
    """The page with the table between the comments of this name.

    Raises:
        ValueError: The page has no such comments.
    """
    before, begin, rest = page.partition(f"<!-- {name}: begin -->\n")
    _, end, after = rest.partition(f"<!-- {name}: end -->\n")
    if not begin or not end:
        raise ValueError(f"there is no place for a table {name!r}")
    return f"{before}{begin}{table}{end}{after}"


def main() -> None:
    """Write the tables into the pages."""
    for (page, name), table in TABLES.items():
        path = FOLDER / page
        path.write_text(with_table(path.read_text("utf-8"), name, table()), encoding="utf-8")


if __name__ == "__main__":
    main()

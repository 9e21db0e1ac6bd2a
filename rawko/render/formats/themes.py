"""Colours of the drawings, as CSS variables. People with any colour vision can distinguish the hues (Okabe, Ito).

No meaning depends on colour alone: active states and taken transitions have thicker lines, and errors are dashed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Theme = Literal["light", "dark", "auto"]
THEMES: tuple[Theme, ...] = ("light", "dark", "auto")

LIGHT: Mapping[str, str] = {
    "paper": "#ffffff",
    "text": "#1b2433",
    "muted": "#556070",
    "line": "#556070",
    "box": "#ffffff",
    "border": "#9aa2b1",
    "group": "#f6f8fa",
    "guard": "#0072b2",
    "active": "#0072b2",
    "active-box": "#dceefb",
    "taken": "#d55e00",
    "taken-text": "#a84800",
}
DARK: Mapping[str, str] = {
    "paper": "#0d1117",
    "text": "#e6edf3",
    "muted": "#9da7b3",
    "line": "#9da7b3",
    "box": "#161b22",
    "border": "#4b545f",
    "group": "#11161d",
    "guard": "#56b4e9",
    "active": "#56b4e9",
    "active-box": "#0c3756",
    "taken": "#e69f00",
    "taken-text": "#e69f00",
}

_BOTH: tuple[Literal["light"], Literal["dark"]] = ("light", "dark")
OF_CHANGES: Mapping[Theme, Mapping[str, str]] = {
    "light": {
        "added": "#007a5a",
        "added-box": "#e3f5ee",
        "removed": "#a84800",
        "removed-box": "#fdeee4",
        "changed": "#8a5a00",
        "changed-box": "#fdf6dd",
    },
    "dark": {
        "added": "#3ecf9a",
        "added-box": "#0d2d24",
        "removed": "#ff8c4c",
        "removed-box": "#3a1d0d",
        "changed": "#f0e442",
        "changed-box": "#332d08",
    },
}
"""Further colours, for differences between two charts."""

FONTS = "'DejaVu Sans', Verdana, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif"

# `$name` is replaced by a colour. Of equally specific CSS rules the last one wins, so taken and active come last.
_RULES = f"""\
text{{font-family:{FONTS};fill:$text;white-space:pre}}
.paper{{fill:$paper}}
.state>.shape,.state>.ring{{fill:$box;stroke:$border;stroke-width:1.5}}
.state>.ring{{fill:none;stroke-width:1.2}}
.container>.shape{{fill:$group}}
.region>.shape{{stroke-dasharray:5 4}}
.initial>.shape{{fill:$text;stroke:none}}
.title{{font-size:14px;font-weight:bold}}
.kind{{font-size:11px;fill:$muted}}
.row{{font-size:11.5px;fill:$muted}}
.row-guard{{font-size:11.5px;fill:$guard}}
.mark{{font-size:12px}}
.event{{font-size:12px}}
.guard{{font-size:12px;fill:$guard}}
.action{{font-size:11px;fill:$muted}}
.quiet{{font-size:12px;fill:$muted}}
.target{{font-size:12px;font-weight:bold}}
.chip{{font-size:12px}}
.pill{{fill:$group;stroke:$border}}
.pill.end{{stroke-width:3;fill:$box}}
.pill.end-ring{{stroke:$box;stroke-width:1;fill:none}}
.rule{{stroke:$border;stroke-width:.7}}
.shared>.shape,.shared-rows{{stroke-dasharray:5 4}}
.shared-rows{{fill:$box;stroke:$border}}
.line{{fill:none;stroke:$line;stroke-width:1.5}}
.arrow{{fill:$line}}
.error>.line,.default>.line{{stroke-dasharray:6 4}}
.state.active>.shape,.state.active>.ring{{stroke:$active;stroke-width:3.2}}
.state.active>.ring{{stroke-width:1.6}}
.state.active.leaf>.shape{{fill:$active-box}}
.edge.taken>.line{{stroke:$taken;stroke-width:3.2}}
.edge.taken>.arrow{{fill:$taken}}
.event.taken,.guard.taken,.action.taken,.row.taken,.row-guard.taken,.quiet.taken,.target.taken,.chip.taken{{fill:$taken-text}}
"""
_RULES_OF_CHANGES = """\
.state.added>.shape,.state.added>.ring{stroke:$added;stroke-width:2.4}
.state.added.leaf>.shape{fill:$added-box}
.state.added>.title,.row-of.added>text{fill:$added}
.edge.added>.line{stroke:$added;stroke-width:2.4}
.edge.added>.arrow{fill:$added}
.state.removed>.shape,.state.removed>.ring{stroke:$removed;stroke-width:2.4}
.state.removed.leaf>.shape{fill:$removed-box}
.state.removed>.title,.row-of.removed>text{fill:$removed}
.edge.removed>.line{stroke:$removed;stroke-width:2.4}
.edge.removed>.arrow{fill:$removed}
.state.changed>.shape,.state.changed>.ring{stroke:$changed;stroke-width:2.4}
.state.changed.leaf>.shape{fill:$changed-box}
.state.changed>.title,.row-of.changed>text{fill:$changed}
.edge.changed>.line{stroke:$changed;stroke-width:2.4}
.edge.changed>.arrow{fill:$changed}
.state.removed>.shape,.edge.removed>.line{stroke-dasharray:2 4}
.state.removed>.title,.row-of.removed>text{text-decoration:line-through}
"""


def style_sheet(theme: Theme, scope: str, *, has_changes: bool = False) -> str:
    """CSS for drawings of a class. Colours are variables `--rawko-<name>` that a page may set.

    Args:
        has_changes: Whether the drawing shows differences between two charts.
    """
    both = "light dark" if theme == "auto" else theme
    light, dark = (_colours(one, has_changes=has_changes) for one in _BOTH)
    sheet = f".{scope}{{{_variables(dark if theme == 'dark' else light)};color-scheme:{both}}}\n"
    if theme == "auto":
        sheet += f"@media (prefers-color-scheme:dark){{.{scope}{{{_variables(dark)}}}}}\n"
    names = {name: f"var(--rawko-{name})" for name in light}
    return sheet + _scoped(_coloured(names, has_changes=has_changes), scope)


def plain_style_sheet(theme: Theme, scope: str, *, has_changes: bool = False) -> str:
    """The same CSS with the colours written out, for programs without CSS variables. `auto` is light."""
    colours = _colours("dark" if theme == "dark" else "light", has_changes=has_changes)
    return _scoped(_coloured(colours, has_changes=has_changes), scope)


def _colours(theme: Literal["light", "dark"], *, has_changes: bool) -> Mapping[str, str]:
    colours = LIGHT if theme == "light" else DARK
    return {**colours, **OF_CHANGES[theme]} if has_changes else colours


def _variables(colours: Mapping[str, str]) -> str:
    return ";".join(f"--rawko-{name}:{colour}" for name, colour in colours.items())


def _coloured(colours: Mapping[str, str], *, has_changes: bool) -> str:
    rules = _RULES + _RULES_OF_CHANGES * has_changes
    for name in sorted(colours, key=len, reverse=True):
        rules = rules.replace(f"${name}", colours[name])
    return rules


def _scoped(rules: str, scope: str) -> str:
    """The rules with every selector limited to the drawing's class, so that the rest of a page keeps its style."""
    found = []
    for rule in rules.splitlines():
        selectors, body = rule.split("{", 1)
        found.append(",".join(f".{scope} {selector}" for selector in selectors.split(",")) + "{" + body)
    return "\n".join(found) + "\n"

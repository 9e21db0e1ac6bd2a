"""The `changes` tool: shows which files differ between two snapshots of the run. It writes nothing (AL-103)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from rawko.runtime.ports import ToolOutcome, ToolSpec, WorkspaceError
from rawko.tools.base import Arguments, PathSubject, Run, Tool, ToolFailure, object_schema
from rawko.tools.files.paths import Folder
from rawko.tools.lookups.port import Place, RunLookups
from rawko.tools.text import counted, cut_line, shown_name, visible
from rawko.vocabulary.snapshot import FileChange

MAX_PATHS: Final = 500
MAX_DIFF_CHARS: Final = 30_000
MAX_PLACES: Final = 40
_SIGNS: Final = {"added": "A", "modified": "M", "deleted": "D"}
_ITERATION: Final = re.compile(r"iteration[ -]?([0-9]{1,6})")
_ACCEPTED: Final = '"start", "latest", the number of a snapshot such as "3", or "iteration 2" (an agent\'s run)'


class Changes(Tool):
    """Compares two snapshots of the run."""

    spec = ToolSpec(
        name="changes",
        description=(
            "Which files of the workspace changed between two snapshots of this run, with lines added and removed; "
            "with diff: true also how. A snapshot is taken before the run and after every tool call that changed files."
            " Without from and to: everything since the run began."
        ),
        input_schema=object_schema(
            {
                "from": {"type": "string", "minLength": 1, "description": f"{_ACCEPTED}; start if left out."},
                "to": {"type": "string", "minLength": 1, "description": "As from; latest if left out."},
                "path": {"type": "string", "minLength": 1, "description": "A file, or a folder and all below it."},
                "diff": {"type": "boolean", "description": "Show the unified diff as well."},
            },
            required=(),
        ),
        is_read_only=True,
    )

    def __init__(self, folder: Folder, lookups: RunLookups) -> None:
        self._folder, self._lookups = folder, lookups

    def subject(self, arguments: Arguments) -> PathSubject:
        return self._folder.subject(arguments.get("path", "."))

    async def run(self, run: Run) -> ToolOutcome:
        try:
            return await self._compared(run)
        except WorkspaceError as error:
            raise ToolFailure(f"the snapshots cannot be read: {error.message}", code="failed") from error

    async def _compared(self, run: Run) -> ToolOutcome:
        arguments = run.arguments
        places = await self._lookups.places()
        if not places:
            raise ToolFailure("this run has no snapshots yet", code="not_found")
        before = self._tree(str(arguments.get("from", "start")), places, is_end=False)
        after = self._tree(str(arguments.get("to", "latest")), places, is_end=True)
        found = [change for change in await self._lookups.changes(before, after) if _is_shown(change.path, run)]
        lines = [_snapshots(places)]
        if not found:
            return ToolOutcome("\n".join([*lines, "no file differs"]), touched=())
        lines += [_line(change) for change in found[:MAX_PATHS]]
        if len(found) > MAX_PATHS:
            lines.append(f"[there are {len(found) - MAX_PATHS} more; give a path]")
        if arguments.get("diff", False):
            shown = {change.path for change in found[:MAX_PATHS]}
            lines += ["", *_bounded(await self._lookups.diff(before, after, shown))]
        return ToolOutcome("\n".join(lines), touched=())

    def _tree(self, name: str, places: Sequence[Place], *, is_end: bool) -> str:
        if name == "start":
            return places[0].tree
        if name == "latest":
            return places[-1].tree
        if (asked := _ITERATION.fullmatch(name)) is not None:
            trees = self._lookups.iteration(int(asked[1]))
            if trees is None:
                raise ToolFailure(f"no agent's run of this task is iteration {asked[1]}", code="not_found")
            return trees[1 if is_end else 0]
        if name.isascii() and name.isdigit() and len(name) < 9 and int(name) < len(places):
            return places[int(name)].tree
        raise ToolFailure(
            f"{name!r} names no snapshot; accepted: {_ACCEPTED}; snapshots are 0 to {len(places) - 1}", code="not_found"
        )


def _is_shown(path: str, run: Run) -> bool:
    """Whether a path lies below the requested one, and no rule forbids reading it."""
    asked = str(run.arguments.get("path", ".")).removeprefix("./").rstrip("/")
    is_inside = asked in ("", ".") or path == asked or path.startswith(f"{asked}/")
    return is_inside and not any(re.compile(rule, re.IGNORECASE).fullmatch(path) for rule in run.hidden)


def _snapshots(places: Sequence[Place]) -> str:
    named = [f"{place.number} {visible(place.label)}".rstrip() for place in places[-MAX_PLACES:]]
    earlier = f"{len(places) - MAX_PLACES} earlier, " if len(places) > MAX_PLACES else ""
    return f"[{counted(len(places), 'snapshot')}: {earlier}{', '.join(named)}]"


def _line(change: FileChange) -> str:
    lines = "binary" if change.is_binary else f"+{change.added_lines} -{change.removed_lines}"
    return f"{_SIGNS[change.kind]} {shown_name(change.path)}  {lines}"


def _bounded(diff: str) -> list[str]:
    lines = [cut_line(line) for line in visible(diff).splitlines()]
    size = 0
    for number, line in enumerate(lines):
        size += len(line) + 1
        if size > MAX_DIFF_CHARS:
            return [*lines[:number], f"[{len(lines) - number} more lines; give a path]"]
    return lines

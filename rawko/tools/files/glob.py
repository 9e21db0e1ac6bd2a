"""The `glob` tool: lists paths of files by pattern. It writes nothing."""

from __future__ import annotations

from rawko.patterns.globs import PatternError, glob_regex
from rawko.runtime.ports import ToolOutcome, ToolSpec
from rawko.tools.base import Arguments, PathSubject, Run, Tool, ToolFailure, object_schema
from rawko.tools.files.paths import Folder
from rawko.tools.files.search import Request, search
from rawko.tools.sandbox import Sandbox
from rawko.tools.text import shown_name

MAX_PATHS = 1000


class Glob(Tool):
    """Lists files of the workspace."""

    spec = ToolSpec(
        name="glob",
        description=(
            "List files of the workspace by pattern, sorted by path: * and ? within a name, ** across folders, "
            "[abc], {a,b}; e.g. '**/*.py'. What .gitignore names is left out unless include_ignored is true; "
            ".git is never listed."
        ),
        input_schema=object_schema(
            {
                "pattern": {"type": "string", "minLength": 1, "description": "Relative to path."},
                "path": {"type": "string", "minLength": 1, "description": "Folder to start in; '.' if left out."},
                "include_ignored": {"type": "boolean", "description": "List ignored files too."},
            },
            required=("pattern",),
        ),
        is_read_only=True,
    )

    def __init__(self, folder: Folder, *, timeout_ms: int, sandbox: Sandbox | None = None) -> None:
        self._folder, self._timeout_ms, self._sandbox = folder, timeout_ms, sandbox

    def subject(self, arguments: Arguments) -> PathSubject:
        return self._folder.subject(arguments.get("path", "."))

    async def run(self, run: Run) -> ToolOutcome:
        pattern, ignored = run.arguments["pattern"], run.arguments.get("include_ignored", False)
        try:
            names = glob_regex(pattern)
        except PatternError as error:
            raise ToolFailure(error.message, code="bad_pattern") from error
        request = Request(
            path=run.arguments.get("path", "."),
            names=names,
            with_ignored=ignored,
            hidden=run.hidden,
            max_items=MAX_PATHS,
        )
        found = await search(self._folder, request, timeout_ms=self._timeout_ms, sandbox=self._sandbox)
        if not found.items:
            hint = "" if ignored else "; ignored files are not listed (include_ignored lists them)"
            return ToolOutcome(f"no file matches {pattern!r}{hint}", touched=())
        lines = [shown_name(path) for path in found.items]
        if found.is_cut:
            lines.append(f"[there are more than these {len(found.items)}; use a narrower pattern or path]")
        return ToolOutcome("\n".join(lines), touched=())

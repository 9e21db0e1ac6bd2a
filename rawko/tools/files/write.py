"""The `write` tool: creates a file or replaces its whole content, and reports that file as written."""

from __future__ import annotations

from functools import partial

from rawko.runtime.ports import ToolOutcome, ToolSpec
from rawko.tools.base import Arguments, PathSubject, Run, Tool, ToolFailure, object_schema
from rawko.tools.files.content import encode, replace_file, to_the_end
from rawko.tools.files.paths import Folder
from rawko.tools.text import counted, shown_name, size


class Write(Tool):
    """Writes files of the workspace."""

    spec = ToolSpec(
        name="write",
        description=(
            "Write a file of the workspace: create it (folders on the way included) or replace its whole content. "
            "Use edit to change part of a file. .git and .rawko are read-only."
        ),
        input_schema=object_schema(
            {
                "file_path": {"type": "string", "minLength": 1, "description": "Path relative to the workspace."},
                "content": {"type": "string", "description": "The whole content, written as UTF-8, as it is."},
            },
            required=("file_path", "content"),
        ),
    )

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    def subject(self, arguments: Arguments) -> PathSubject:
        return self._folder.subject(arguments["file_path"])

    async def run(self, run: Run) -> ToolOutcome:
        return await to_the_end(partial(self._write, run.arguments["file_path"], run.arguments["content"]))

    def _write(self, path: str, content: str) -> ToolOutcome:
        if path.endswith("/"):
            raise ToolFailure(f"{path!r} names a folder; folders are made with the first file in them")
        data = encode(content, "content")
        with self._folder.locate(path, for_writing=True) as located:
            is_new = located.info is None
            replace_file(located, path, data)
            real = located.real
        lines = content.count("\n") + (not content.endswith("\n") and content != "")
        what = "created" if is_new else "replaced"
        return ToolOutcome(f"{what} {shown_name(real)} ({counted(lines, 'line')}, {size(len(data))})", touched=(real,))

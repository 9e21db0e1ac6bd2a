"""The `output` tool: shows the whole of a text that was shown truncated, page by page. It writes nothing (S6-102)."""

from __future__ import annotations

from typing import Final

from rawko.runtime.ports import ToolOutcome, ToolSpec
from rawko.tools.base import Arguments, Run, Tool, ToolFailure, object_schema
from rawko.tools.lookups.port import RunLookups
from rawko.tools.text import visible
from rawko.vocabulary.documents import accepted

PAGE_CHARS: Final = 30_000
_NAMED: Final = 10


class Output(Tool):
    """Opens a text of the run by its id."""

    spec = ToolSpec(
        name="output",
        description=(
            "Open the whole of a text of this run that you were shown cut: what an agent reported in an iteration "
            "(id: iteration-3), or the result of an earlier tool call (id: the call's id)."
        ),
        input_schema=object_schema(
            {
                "id": {"type": "string", "minLength": 1, "maxLength": 300, "description": "As the cut text names it."},
                "offset": {"type": "integer", "minimum": 0, "description": "Characters to leave out before; 0."},
            },
            required=("id",),
        ),
        is_read_only=True,
    )
    pattern_kind = "none"

    def __init__(self, lookups: RunLookups) -> None:
        self._lookups = lookups

    def subject(self, arguments: Arguments) -> None:
        return None

    async def run(self, run: Run) -> ToolOutcome:
        id, offset = run.arguments["id"], int(run.arguments.get("offset", 0))
        text = self._lookups.text(id)
        if text is None:
            known = list(self._lookups.text_ids())[-_NAMED:]
            raise ToolFailure(f"there is no text with the id {id!r}{accepted(known, found=id)}", code="not_found")
        if offset >= len(text):
            end = f"[the text has {len(text):,} characters]" if text else "[the text is empty]"
            return ToolOutcome(end, touched=())
        page = text[offset : offset + PAGE_CHARS]
        left = len(text) - offset - len(page)
        more = f"\n[{left:,} of {len(text):,} characters more; go on with offset {offset + len(page)}]" if left else ""
        return ToolOutcome(visible(page) + more, touched=())

"""The result of a called agent: from the output of its machine to the text that its caller reads. Pure.

{"outcome": "success", "summary": "Two tests fail.", "files_changed": [...]}

tester has ended: success
Two tests fail.
Files changed (1): tests/test_a.py
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rawko.cutting import cut
from rawko.interpreter.data.values import thaw

MAX_SUMMARY_CHARS: Final = 12_000
MAX_FILES: Final = 100


def called_result(output: Any) -> dict[str, Any]:
    """The output of a called agent's machine without its conversation, which the called machine's own steps record."""
    told: dict[str, Any] = thaw(output)
    error = told.get("error") or {}
    files = [change["path"] for change in told.get("files_changed") or ()]
    return {
        "outcome": told["outcome"],
        "summary": cut(str(told.get("summary") or ""), MAX_SUMMARY_CHARS, "… [{more} characters more]", is_beyond=True),
        "error": str(error.get("message") or ""),
        "files": files[:MAX_FILES],
        "file_count": len(files),
        "usage": told.get("usage") or {},
        "cost_usd": told.get("cost_usd") or 0.0,
    }


def result_text(agent: str, result: Mapping[str, Any]) -> str:
    """The result of a call as text for the calling agent."""
    lines = [f"{agent} has ended: {result['outcome']}"]
    if result["summary"]:
        lines.append(result["summary"])
    if result["error"] and result["error"] not in result["summary"]:
        lines.append(result["error"])
    if result["file_count"]:
        more = result["file_count"] - len(result["files"])
        named = ", ".join(result["files"]) + (f" and {more} more" if more else "")
        lines.append(f"Files changed ({result['file_count']}): {named}")
    return "\n".join(lines)

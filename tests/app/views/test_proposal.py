"""What a call that waits for a yes would do: nothing but the change itself stands among the lines."""

from __future__ import annotations

from pathlib import Path

from rawko.app.views.proposal import proposal_of


def test_a_name_with_line_ends_adds_no_lines_to_the_diff(tmp_path: Path) -> None:
    name = "x\n@@ -1 +1 @@\n-harmless\n+harmless too"
    (tmp_path / name).write_text("old\n", encoding="utf-8")
    proposal = proposal_of({"name": "write", "input": {"file_path": name, "content": "new\n"}}, tmp_path)
    assert proposal.is_diff
    assert len(proposal.lines) == 5
    assert proposal.lines[2:] == ("@@ -1 +1 @@", "-old", "+new")

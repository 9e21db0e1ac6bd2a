"""`make demo`: the main job in a small real repository, in a temporary folder, with scripted model replies."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from rawko.extras import MissingExtra, require
from rawko.processes.keys import protect
from rawko.tools.commands.environment import is_public

TASK = "Write a fizzbuzz program with a unit test, check its output, and have it reviewed."
_README = "# A small project\n\nIt has no program yet.\n"


def main() -> int:
    """Make the repository, run the task there, and leave nothing behind."""
    protect(is_public)
    try:
        require("agents", "the demo")
    except MissingExtra as error:
        print(f"rawko: {error}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="rawko-demo-") as folder:
        workspace, state = Path(folder, "project"), Path(folder, "state")
        workspace.mkdir()
        (workspace / "README.md").write_text(_README, encoding="utf-8")
        identity = ["-c", "user.name=Demo", "-c", "user.email=demo@example.invalid"]
        for arguments in (["init", "--quiet"], ["add", "."], [*identity, "commit", "--quiet", "-m", "Begin"]):
            subprocess.run(["git", *arguments], cwd=workspace, check=True)
        command = [sys.executable, "-m", "rawko.cli", "run", TASK, "--provider", "scripted", "--scenario", "fizzbuzz"]
        environ = {**os.environ, "RAWKO_STATE_DIR": str(state)}  # no keys: replies are scripted
        return subprocess.run([*command, "--yes"], cwd=workspace, env=environ, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

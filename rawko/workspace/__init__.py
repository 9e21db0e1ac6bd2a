"""Snapshots of the folder that agents work in: git trees in a private repository, without git's index.

`SnapshotStore` is the synchronous whole, `SnapshotWorkspace` its asyncio adapter of the Workspace port, `clean` packs.
Inside: `names` and `folders` (paths as bytes, opened without links), `objects` and `repository` (the private store),
`history` (a run's chain of commits), `cleaning` (packing, and dropping what no run needs), `mirror` (the captured tree
in memory), `look`, `touch` and `reader` (the disk), `ignore` and `userindex` (what is left out), `diff`,
`plan`, `check`, `restore` and `pending` (going back), `locks`.
"""

from rawko.extras import require

require("agents", "rawko.workspace")

from rawko.workspace.repository.packing import Cleaned, clean  # noqa: E402 (see above: what it imports may be missing)
from rawko.workspace.store import Restoration, SnapshotStore  # noqa: E402
from rawko.workspace.workspace import SnapshotWorkspace  # noqa: E402

__all__ = ["Cleaned", "Restoration", "SnapshotStore", "SnapshotWorkspace", "clean"]

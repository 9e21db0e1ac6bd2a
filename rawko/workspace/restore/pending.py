"""The record of a running restore: a file in the state folder while files are changed, found after a crash."""

from __future__ import annotations

import json
from pathlib import Path

from rawko.runtime.ports import WorkspaceError
from rawko.vocabulary.snapshot import Snapshot


class PendingRestore:
    """The record of at most one unfinished restore of a run."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def begin(self, target: Snapshot, safety: Snapshot) -> None:
        """Record the snapshot to restore, and the snapshot of the files before."""
        note = {"format": 1, "target": target.to_json(), "safety": safety.to_json()}
        temporary = self._file.with_name(self._file.name + ".tmp")
        try:
            temporary.write_bytes(json.dumps(note).encode("ascii"))
            temporary.replace(self._file)
        except OSError as error:
            raise WorkspaceError(
                f"the state folder cannot be written: {error.strerror}; nothing was restored", path=str(self._file)
            ) from error

    def end(self) -> None:
        """Remove the record: the restore is complete.

        Raises:
            WorkspaceError: It cannot be removed, so that the next `open` of the run repeats the restore.
        """
        try:
            self._file.unlink(missing_ok=True)
        except OSError as error:
            raise WorkspaceError(
                f"the state folder cannot be written: {error.strerror}; the restore is done once more when the run is"
                " opened next",
                path=str(self._file),
            ) from error

    def target(self) -> Snapshot | None:
        """The snapshot that a killed process was restoring; None if nothing is pending.

        Raises:
            WorkspaceError: The record cannot be read.
        """
        try:
            return Snapshot.model_validate(json.loads(self._file.read_text(encoding="ascii"))["target"])
        except FileNotFoundError:
            return None
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise WorkspaceError(
                f"the note {str(self._file)!r} of an unfinished restore cannot be read: {error};"
                " remove it to keep the files as they are",
                path=str(self._file),
            ) from error

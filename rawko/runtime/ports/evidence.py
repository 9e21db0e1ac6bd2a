"""The port through which a machine gathers evidence about the files to be delivered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class EvidenceGatherer(Protocol):
    """Gathers evidence in one folder. Demands and evidence are data (`rawko.vocabulary.evidence`)."""

    async def __call__(self, demands: Sequence[Any], known: Sequence[Any] = ()) -> list[dict[str, Any]]:
        """Evidence for each demand, in order; a check that has passed on the same files, according to `known`, is not
        run again.

        Raises:
            WorkspaceError: The folder cannot be captured or restored.
        """
        ...

    async def delivery(self) -> dict[str, Any]:
        """The present files, as a Snapshot as data.

        Raises:
            WorkspaceError: The folder cannot be captured.
        """
        ...

    async def set_back(self, to: Mapping[str, Any] | None) -> None:
        """Restore the files of a snapshot, to undo an interrupted check.

        Raises:
            WorkspaceError: The folder cannot be restored.
        """
        ...

"""The actors with which a running machine merges the results of lanes into its run's files.

    base    the files that the lane started with
    ours    the folder as it is now, with all edits since
    theirs  the files of the lane at its end

    capture_files   {label}             takes a snapshot of the present files
    plan_adoption   {run}               reports what a merge of the lane would do; changes nothing
    bring_in        {run, back?}        merges the lane's changes, or the changes between two snapshots, into the files
    adopt_lane      {run}               the same, for a machine that uses the diff of each lane
    take_back       {before, after}     undoes the changes between two snapshots; later edits of others stay

All files are trees in the snapshot store; the lane's folder is not needed. Each actor may be repeated after a kill. A
conflict changes nothing; it is a result, not an error. `rawko.app.time_travel.adopt` does the same from the command
line when the run has ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from rawko.app.recovery.halting import halted
from rawko.cutting import cut
from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.values import thaw
from rawko.runtime.actor_kinds import ActorFailed, Scope
from rawko.runtime.ports import WorkspaceError
from rawko.tools.text import shown_name
from rawko.vocabulary.snapshot import FileChange, Snapshot
from rawko.workspace.repository.archive import Archive
from rawko.workspace.repository.merge import Side
from rawko.workspace.store import Merging

ACTORS: Final = ("capture_files", "plan_adoption", "bring_in", "adopt_lane", "take_back")
MAX_PATHS: Final = 200
"""Most changed paths, and conflicting paths, that a result names; it also has their numbers."""
SHOWN_CHARS: Final = 20_000
"""Most characters of the changes that a person or an agent is shown."""

Result = TypeVar("Result")


class MergingWorkspace(Protocol):
    """The part of `rawko.workspace.SnapshotWorkspace` that an adoption uses."""

    @property
    def root(self) -> str: ...

    async def capture(self, label: str) -> Snapshot: ...

    async def merge(
        self, base: Snapshot, theirs: Snapshot, *, label: str, prefer: Side | None = None, dry_run: bool = False
    ) -> Merging: ...

    async def diff(self, before: str, after: str) -> str: ...

    async def changes(self, before: str, after: str) -> Sequence[FileChange]: ...

    async def log(self) -> Sequence[Snapshot]: ...


class Adoption:
    """Merges the changes of lanes into the folder of one run.

    Args:
        workspace: Workspace of the parent run.
        snapshots: Folder of the store that also holds the lanes' files.
        halt: Called with the reason why the run has to stop: its files can be neither read nor written.
        obeyed: Returns the places in the folder, whole paths as they are now, whose changes are not adopted: in the
            lane's own folder nothing obeys them, so that its sandbox does not guard them.
    """

    def __init__(
        self,
        workspace: MergingWorkspace,
        snapshots: Path,
        halt: Callable[[str], None],
        *,
        obeyed: Callable[[], Iterable[Path]] = tuple,
    ) -> None:
        self._workspace, self._snapshots, self._halt, self._obeyed = workspace, snapshots, halt, obeyed

    async def capture_files(self, given: Any) -> dict[str, Any]:
        """`{snapshot}`: a snapshot of the present files."""
        return {"snapshot": (await self._or_halt(self._workspace.capture(str(thaw(given)["label"])))).to_json()}

    async def plan_adoption(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Report what `bring_in` would do, as `{changes, changed, conflicts, conflicting, is_refused, ...}`.

        `changed` and `conflicting` are the numbers of paths, `changes` and `conflicts` name the first of them; `shown`
        is text for a person, `safety` the snapshot before, `now` the one after a merge.

        Raises:
            ActorFailed: The files of the lane or of the folder cannot be read, or the lane changes what git or rawko
                obeys later.
        """
        base, theirs = await self._of_lane(given["run"])
        try:
            found = await self._workspace.merge(base, theirs, label=given["run"], dry_run=True)
            diff = await self._workspace.diff(base.tree, theirs.tree)
        except WorkspaceError as error:
            raise _failed(error.message) from error
        return {**_told(found), "shown": _cut("\n".join([*map(_line, found.changes), "", diff]))}

    async def bring_in(self, given: Mapping[str, Any], scope: Scope) -> dict[str, Any]:
        """Merge a lane's changes, or `back: {base, theirs}`; the result is that of `plan_adoption` without `shown`.

        If there are conflicts, nothing is changed. Repeated after a kill, it completes the merge, and gives the result
        that it would have given without the interruption.

        Raises:
            ActorFailed: The files cannot be read or changed, or the lane changes what git or rawko obeys later.
        """
        asked = thaw(given)
        back = asked.get("back")
        label = f"the files without {asked['run']}" if back else asked["run"]
        base, theirs = (
            map(Snapshot.model_validate, (back["base"], back["theirs"])) if back else await self._of_lane(asked["run"])
        )
        try:
            found = await self._workspace.merge(base, theirs, label=label)
            if found.now is None and scope.attempt > 1:
                return await self._done_before(label) or _told(found)
        except WorkspaceError as error:
            raise _failed(error.message) from error
        return _told(found)

    async def adopt_lane(self, given: Any) -> dict[str, Any]:
        """Merge a lane's changes, and give `{is_adopted, changes, conflicts, diff, snapshot}`.

        `changes` and `conflicts` are paths, `diff` is the lane's work as text, `snapshot` holds the files afterwards.

        Raises:
            ActorFailed: The snapshots of the lane are missing, or it changes what git or rawko obeys later.
        """
        run = str(thaw(given)["run"])
        base, theirs = await self._of_lane(run)
        diff = await self._or_halt(self._workspace.diff(base.tree, theirs.tree))
        found = await self._or_halt(self._workspace.merge(base, theirs, label=run))
        return {
            "is_adopted": not found.is_refused,
            "changes": [change.path for change in found.changes][:MAX_PATHS],
            "conflicts": [conflict.path for conflict in found.conflicts][:MAX_PATHS],
            "diff": _cut(diff),
            "snapshot": (found.now or found.safety).to_json(),
        }

    async def take_back(self, given: Any) -> dict[str, Any]:
        """`{snapshot}`: the files without the changes between `before` and `after`; where somebody has changed a file
        since, that later change stays."""
        told = thaw(given)
        before, after = (Snapshot.model_validate(told[name]) for name in ("before", "after"))
        found = await self._or_halt(self._workspace.merge(after, before, label="what was there before", prefer="ours"))
        return {"snapshot": (found.now or found.safety).to_json()}

    def bindings(self) -> Bindings:
        """The bindings of all actors."""
        return _bound(lambda name: getattr(self, name))

    async def _done_before(self, label: str) -> dict[str, Any] | None:
        """The result of a merge whose process was killed before it reported; None where there was none."""
        log = await self._workspace.log()
        places = [number for number, one in enumerate(log) if number and one.label == f"adopted {label}"]
        if not places:
            return None
        before, after = log[places[-1] - 1], log[places[-1]]
        changes = await self._workspace.changes(before.tree, after.tree)
        return {
            "changes": [change.to_json() for change in changes[:MAX_PATHS]],
            "changed": len(changes),
            "conflicts": [],
            "conflicting": 0,
            "is_refused": False,
            "safety": before.to_json(),
            "now": after.to_json(),
        }

    async def _of_lane(self, run: str) -> tuple[Snapshot, Snapshot]:
        """The files that a lane started with, and those at its end.

        Raises:
            ActorFailed: The snapshots are missing or incomplete, or the lane changes what git or rawko obeys later.
        """
        try:
            base, theirs = await asyncio.to_thread(self._ends_of, run)
            places = await asyncio.to_thread(lambda: tuple(self._obeyed()))
            changes = await self._workspace.changes(base.tree, theirs.tree) if places else ()
        except WorkspaceError as error:
            raise _failed(error.message) from error
        root = Path(self._workspace.root)
        found = next((one.path for one in changes if any((root / one.path).is_relative_to(at) for at in places)), None)
        if found is not None:
            raise _failed(
                f"run {run!r} changes {shown_name(found)}, which git or rawko obeys in this folder, outside of the "
                f"sandbox; nothing is taken over. Look at it: rawko diff {run}; to take it over: rawko adopt {run}"
            )
        return base, theirs

    def _ends_of(self, run: str) -> tuple[Snapshot, Snapshot]:
        with Archive(self._snapshots) as archive:
            taken = archive.snapshots(run)
            if not taken:
                raise WorkspaceError(f"run {run!r} has no snapshots any more")
            for one in (taken[0], taken[-1]):
                if missing := archive.missing(one):
                    raise WorkspaceError(
                        f"snapshot {one.commit[:12]} of run {run!r} is not whole: {missing[0]!r} is gone"
                    )
            return taken[0], taken[-1]

    async def _or_halt(self, work: Awaitable[Result]) -> Result:
        try:
            return await work
        except (WorkspaceError, OSError) as error:
            self._halt(str(error))
        return await halted()


def no_adoption() -> Bindings:
    """The actors of a machine that is only inspected, or resumed only to be cancelled: they wait forever."""

    async def wait(given: Any) -> Any:
        await asyncio.Event().wait()

    return _bound(lambda name: wait)


def _bound(actor: Callable[[str], Any]) -> Bindings:
    bindings = Bindings()
    for name in ACTORS:
        bindings.add("actor", name, actor(name))
    return bindings


def _told(found: Merging) -> dict[str, Any]:
    return {
        "changes": [change.to_json() for change in found.changes[:MAX_PATHS]],
        "changed": len(found.changes),
        "conflicts": [conflict.to_json() for conflict in found.conflicts[:MAX_PATHS]],
        "conflicting": len(found.conflicts),
        "is_refused": found.is_refused,
        "safety": found.safety.to_json(),
        "now": None if found.now is None else found.now.to_json(),
    }


def _line(change: FileChange) -> str:
    lines = "binary" if change.is_binary else f"+{change.added_lines} -{change.removed_lines}"
    return f"{change.kind} {change.path} ({lines})"


def _cut(text: str) -> str:
    return cut(text, SHOWN_CHARS, "\n[... {more} characters more]", is_beyond=True)


def _failed(message: str) -> ActorFailed:
    return ActorFailed({"message": message, "category": "unknown", "attempted": "taking over a lane"})

"""The workspace of a run on this machine: the existing one, or one fetched from the store of packs or cloned."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rawko.app.records.record import RUN_FILE, runs_folder
from rawko.app.travel.fetching import fetch, is_here
from rawko.config import Flags, load_settings
from rawko.config.places import state_dir
from rawko.fleet.errors import FleetError
from rawko.fleet.repositories import make_workspace
from rawko.fleet.task import Repository
from rawko.fleet.working.order import Order
from rawko.runtime.ports import WorkspaceError
from rawko.trust.project import Answer as Decision
from rawko.trust.project import Request
from rawko.trust.store import Decisions
from rawko.workspace.packs.opening import packs_of
from rawko.workspace.packs.port import PackError


def make_place(order: Order) -> Path:
    """The workspace of a run, with its state folder if it has begun.

    Raises:
        FleetError: It cannot be cloned or fetched. `is_retryable`: it may work later, or on another machine.
    """
    own = Path(order.folder) / order.run
    repository = Repository(order.task["address"], order.task["revision"])
    try:
        packs = packs_of(order.environ)
        assert packs is not None, "a worker names the fleet's database where no other store is named"
        try:
            seen = _seen(order.place)
            for place in (seen, own) if seen else (own,):
                if is_here(order.run, place, state_dir(place, order.environ), packs):
                    return place
            if order.place and packs.packs(order.run):
                fetch(order.run, packs, own, order.environ, lambda folder: _clone(order, repository, folder, own))
                return own
            make_workspace(repository, seen or own)  # it has not begun, or has left no files yet
            return seen or own
        finally:
            packs.close()
    except WorkspaceError as error:
        is_away = isinstance(error, PackError) and error.is_retryable
        raise FleetError(f"the files of run {order.run!r} cannot be had here: {error}", is_retryable=is_away) from error


def _seen(place: Mapping[str, Any] | None) -> Path | None:
    """The workspace of an earlier attempt, if it exists on this machine."""
    if not place or not place.get("state"):
        return None
    there, state = Path(str(place["workspace"])), Path(str(place["state"]))
    return there if there.is_dir() and runs_folder(state).is_dir() else None


def _clone(order: Order, repository: Repository, folder: Path, final: Path) -> None:
    """Clone the repository that the task names; store the submitter's trust for the folder's final path.

    The run's changes are restored over the clone later; the trust does not cover them.
    """
    make_workspace(repository, folder)
    if order.task["is_trusted"]:
        load_settings(folder, Flags(order.task["flags"]), order.environ, judge=remember)
        decided = Decisions(folder)
        Decisions(final).save(decided.load())
        decided.revoke()


def is_begun(order: Order, workspace: Path) -> bool:
    """Whether the run has a record here."""
    return (runs_folder(state_dir(workspace, order.environ)) / order.run / RUN_FILE).is_file()


def remember(request: Request) -> Decision:
    """Store the submitter's trust in what the repository requests: for these file contents, and no later ones."""
    return "remember"

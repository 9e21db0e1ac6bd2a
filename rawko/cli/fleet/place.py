"""A run of the fleet that a command names, from any folder: where its files are, and what is told to it.

A run that the current folder knows is that folder's. Otherwise the fleet's database is asked: the command then works
in the folder of the run, or in a copy that is fetched, with the fleet's journal; and what a person says to the run goes
through the database.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from rawko.cli.fleet.opening import fleet_folder, has_fleet, with_fleet
from rawko.cli.output import complain, visible_json, visible_line
from rawko.cli.people import user
from rawko.cli.settings import settings_to_look, work_in
from rawko.config.flags import Flags
from rawko.config.layers import of_flags
from rawko.processes.keys import environment, keep

if TYPE_CHECKING:
    from rawko.config import Settings
    from rawko.fleet.fleet import Fleet
    from rawko.fleet.records import TaskRecord

_found: list[TaskRecord] = []
_places: dict[str, Path] = {}
"""Where the files of a run are that a command has found."""
_JOURNAL = "RAWKO_JOURNAL_URL"
_BUDGET = ("budget.", "max_iterations")


def named_in_fleet(text: str, current: Settings) -> str | None:
    """The id of the run of the fleet that a text names, and that the current folder does not know; None for none.

    Raises:
        FleetError: More than one fits, or the database cannot be asked.
    """
    from rawko.app.records.naming import names_of
    from rawko.extras import require

    if not text or not has_fleet() or text in names_of(current, with_explorations=True):
        return None
    require("fleet", "a run of the fleet")
    from rawko.fleet.fleet import Fleet

    with Fleet.open(environment()) as fleet:
        task = fleet.find(text)
        if task is None:
            return None
        _found[:] = [task]
        if task.place is not None and task.place.get("workspace"):
            _go_to(task, fleet)
        return task.run


def _go_to(task: TaskRecord, fleet: Fleet) -> None:
    """Work in the folder of a run where it can be seen from here, else in a copy, which is made anew where it is old.

    Raises:
        FleetError: It cannot be fetched.
    """
    from rawko.app.travel.fetching import fetch, is_here
    from rawko.config.places import state_dir
    from rawko.fleet.errors import FleetError
    from rawko.runtime.ports import WorkspaceError
    from rawko.workspace.packs.opening import URL_VARIABLE, packs_of

    assert task.place is not None
    url = fleet.url.render_as_string(hide_password=False)
    packs = packs_of({URL_VARIABLE: url, **environment()})
    assert packs is not None
    workspace, state = Path(str(task.place["workspace"])), Path(str(task.place["state"]))
    try:
        if not is_here(task.run, workspace, state, packs):
            if not packs.packs(task.run):
                return
            workspace = fleet_folder() / "copies" / task.run
            state = state_dir(workspace, environment())
            if not is_here(task.run, workspace, state, packs):
                fetch(task.run, packs, workspace, environment())
    except WorkspaceError as error:
        raise FleetError(f"the files of run {task.run!r} cannot be fetched: {error}") from error
    finally:
        packs.close()
    keep(_JOURNAL, url)
    keep(URL_VARIABLE, environment().get(URL_VARIABLE) or url)
    keep("RAWKO_STATE_DIR", str(state.parent))
    _places[task.run] = workspace
    work_in(workspace)


def fleet_task(run: str) -> TaskRecord | None:
    """The task of a run that `named_in_fleet` has found."""
    return next((task for task in _found if task.run == run), None)


def why_not_here(run: str) -> str | None:
    """Why a run of the fleet cannot be looked at from here; None where it can, or is none of the fleet."""
    task = fleet_task(run)
    if task is None:
        return None
    if task.place is None or not task.place.get("workspace"):
        more = f": {task.reason}" if task.reason else ""
        return f"run {run!r} of the fleet is {task.state} and has not begun{more}; `rawko runs --fleet` lists it"
    if run not in _places or settings_to_look(is_told=False).workspace != _places[run].resolve():
        host = str(task.place.get("host", "")).split(" ")[0]
        return (
            f"the files of run {run!r} are on {host!r} in {task.place['workspace']!r}, and it has sent none of them yet"
        )
    return None


def tell_fleet(
    run: str, kind: str, text: str, *, kinds: tuple[str, ...] = (), question: int | None = None, as_json: bool = False
) -> int:
    """Tell a run of the fleet something; the worker that has it gives it to its machine.

    Args:
        kind: "answer", "cancel" or an override.
        kinds: Of questions that this answers; empty for any.
    """
    task = fleet_task(run)
    asked = None if task is None else task.question
    if kind == "answer":
        if task is not None and asked is None and task.state != "running":
            return complain(f"run {run!r} of the fleet asks nothing; it is {task.outcome or task.state}")
        if asked is not None and kinds and asked.get("kind") not in kinds:
            from rawko.cli.summary import how_to_answer

            return complain(
                f"run {run!r} waits for something else: {asked.get('text', '')}\n"
                f"{how_to_answer(str(asked.get('kind')), run)}"
            )

    def tell(fleet: Fleet) -> int:
        before = fleet.tell(run, kind, user(), text, question)
        what = "told the worker that has it" if before.state == "running" else "told; a worker goes on with it"
        if kind == "cancel" and before.place is None:
            what = "cancelled before it began"
        if as_json:
            print(visible_json({"run": run, "told": kind, "state": before.state}))
        else:
            print(visible_line(f"run {run}: {what}"))
        return 0

    return with_fleet("rawko", tell)


def resume_in_fleet(run: str, flags: Flags, *, as_json: bool) -> int:
    """Let a run of the fleet go on with a larger budget; its workers go on with all others by themselves."""
    task = fleet_task(run)
    asked = None if task is None else task.question
    if asked is None or asked.get("kind") != "budget":
        return complain(
            f"run {run!r} is of the fleet, whose workers go on with it; if it is dead: rawko queue requeue {run}"
        )
    given = {name: value for name, value in flags.items() if name.startswith(_BUDGET)}
    if not given:
        return complain(
            f"run {run!r} has used up its budget; say how much it may use: --max-cost, --max-tokens, --max-time"
        )
    problems: list[str] = []
    of_flags(flags, problems)
    if problems:
        return complain("; ".join(problems))
    return tell_fleet(run, "larger", json.dumps(given), as_json=as_json)

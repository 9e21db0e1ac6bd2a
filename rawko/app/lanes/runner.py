"""Starts, resumes and stops the lanes of one run, and gives their results to the machine that ordered them.

    no note yet          the folder is made, the setup command runs, the lane's run starts
    folder incomplete    made again
    run without an end   resumed from its journal
    run with an end      its report is given again

So the actor can be repeated after a kill at any moment, with the same result.
"""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

from rawko.app.lanes.disk import until_too_large
from rawko.app.lanes.folder import (
    check_free,
    lane_folder,
    lane_settings,
    make_folder,
    remove_folder,
    temporary_folder,
)
from rawko.app.lanes.host import LaneRun, ParentRun
from rawko.app.lanes.listing import open_lanes
from rawko.app.lanes.note import LaneNote, next_number, read_note, write_note
from rawko.app.lanes.order import Order, check_depth, invalid, order_of
from rawko.app.lanes.results import Ended, failure, result_of
from rawko.app.lanes.setup import SetupFailed, run_setup
from rawko.app.records.outcomes import is_open
from rawko.app.records.record import Parent, RunRecord, has_record, read_record
from rawko.app.records.run_names import lane_run
from rawko.config import ConfigError, Settings, share_state, with_model
from rawko.config.blocks import size_bytes
from rawko.runtime.ports import WorkspaceError
from rawko.vocabulary.budget import duration_ms
from rawko.vocabulary.evidence import Demand
from rawko.workspace.repository.locks import user_of

if TYPE_CHECKING:
    pass

CANCELLED_BY = "the run above"
"""The person that a lane's journal names, where the parent machine cancelled the lane."""


class Lanes:
    """The lanes of one run, in one process."""

    def __init__(self, parent: ParentRun) -> None:
        self._parent = parent
        self._slots = asyncio.Semaphore(parent.settings.lanes.jobs)
        self._beginning = asyncio.Lock()
        self._tasks: dict[str, asyncio.Task[dict[str, Any]]] = {}
        self._runs: dict[str, LaneRun] = {}
        self._waiting: dict[str, Mapping[str, Any]] = {}
        self._looks: set[asyncio.Future[None]] = set()

    async def run(self, given: Any) -> dict[str, Any]:
        """The actor `run_lane`: see `results.result_of` for its output.

        Raises:
            ActorFailed: The order cannot be carried out, or the lane has failed.
        """
        order = order_of(given, self._parent.settings.agents)
        check_depth(self._parent.run, order.lane)
        if order.lane in self._tasks:
            raise invalid(f"lane {order.lane!r} is running already; each lane of a run needs a name of its own")
        task = asyncio.create_task(self._lane(order), name=f"lane {order.lane}")
        self._tasks[order.lane] = task
        task.add_done_callback(lambda _: self._tasks.pop(order.lane, None))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            self._stop(order.lane)
            raise
        finally:  # all other lanes may be waiting: check after the machine has this lane's result
            asyncio.get_running_loop().call_soon(self._look_later)

    def _look_later(self) -> None:
        look = asyncio.ensure_future(self._look())
        self._looks.add(look)
        look.add_done_callback(self._looks.discard)

    async def _look(self) -> None:
        """Make the whole run wait if all remaining lanes wait."""
        await self._parent.settled()
        if self._waiting and len(self._waiting) == len(self._tasks):
            self._parent.wait(next(iter(self._waiting.values())))

    def _stop(self, lane: str) -> None:
        """Cancel a lane whose result is not needed; if the whole run was halted, stop it without ending its machine."""
        task = self._tasks.get(lane)
        if task is None:
            return
        task.add_done_callback(_hear)
        if lane in self._runs and not self._parent.is_left():
            self._runs[lane].cancel(CANCELLED_BY)
        else:
            task.cancel()

    async def aclose(self, *, is_ended: bool) -> None:
        """Wait until no lane is running.

        Args:
            is_ended: The run has ended: cancel lanes that an earlier process has left open.
        """
        for look in tuple(self._looks):
            look.cancel()
        while tasks := tuple(self._tasks.values()):
            await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.sleep(0)
        if is_ended:
            for record in open_lanes(self._parent.settings, self._parent.run):
                lane = self._parent.make(
                    record.settings, record.task, record.agent, record.run, is_resumed=True, is_cancel=True
                )
                lane.cancel(CANCELLED_BY)
                with suppress(ConfigError):  # the lane stays open, and `rawko runs` lists it
                    await lane.execute()
                shutil.rmtree(temporary_folder(record.settings, record.run), ignore_errors=True)

    # ------------------------------------------------------------ one lane

    async def _lane(self, order: Order) -> dict[str, Any]:
        run = lane_run(self._parent.run, order.lane)
        try:
            async with self._slots:
                ended = await self._to_its_end(order, run)
        except (ConfigError, SetupFailed, WorkspaceError) as error:
            raise failure(order, run, str(error)) from error
        if isinstance(ended, RunRecord):
            await self._wait(order, ended)
        return result_of(order, ended)

    async def _to_its_end(self, order: Order, run: str) -> Ended | RunRecord:
        """Carry the order out; a run that cannot continue now is returned as its record.

        Raises:
            ConfigError, SetupFailed, WorkspaceError: The lane fails for a reason other than its agent.
        """
        note = await self._note(order, run)
        settings = with_model(lane_settings(self._parent.settings, note, run), order.model)
        if order.check is not None:
            settings = replace(settings, evidence=(*settings.evidence, Demand(check=order.check)))
        if note.state == "making":
            note = await self._make(order, run, note, settings)
        if note.state == "failed":
            raise ConfigError(note.why)
        is_resumed = has_record(settings, run)
        if is_resumed:
            record = read_record(run, settings)
            if not is_open(record):
                return Ended.of(record)
        if not note.folder.is_dir():
            raise ConfigError(f"its folder {str(note.folder)!r} is gone; what it did is kept: rawko adopt {run}")
        if user_of(settings.state_dir / "snapshots", run) is not None:
            raise ConfigError(f"its run {run!r} is at work in another process")
        await self._execute(order, run, note, settings, is_resumed=is_resumed)
        record = read_record(run, settings)
        if is_open(record):
            return record
        shutil.rmtree(temporary_folder(settings, run), ignore_errors=True)
        after = read_note(self._parent.folder, order.lane)
        if after is not None and after.state == "failed":
            raise ConfigError(after.why)
        return Ended.of(record)

    async def _execute(self, order: Order, run: str, note: LaneNote, settings: Settings, *, is_resumed: bool) -> None:
        """Run the lane's agent, and cancel it if its folder exceeds the disk limit."""
        parent = Parent(self._parent.run, note.step, order.lane)
        lane = self._parent.make(settings, order.told, order.agent, run, parent=parent, is_resumed=is_resumed)
        self._runs[order.lane] = lane
        executing = asyncio.create_task(lane.execute())
        watching = None
        most = settings.lanes.disk
        if most is not None:
            folders = (note.folder, temporary_folder(settings, run))
            watching = asyncio.create_task(until_too_large(folders, size_bytes(most)))
        try:
            if watching is not None:
                await asyncio.wait({executing, watching}, return_when=asyncio.FIRST_COMPLETED)
                if not executing.done():
                    why = f"its folder takes {watching.result() / 1e6:,.0f} MB of the disk, and may take {most}"
                    write_note(self._parent.folder, note.failed(f"{why}; what it did is kept as {run}"))
                    lane.cancel("the disk limit")
            await executing
        finally:
            del self._runs[order.lane]
            for task in (executing, watching):
                if task is not None and not task.done():
                    task.cancel()
                    await asyncio.gather(task, return_exceptions=True)

    async def _wait(self, order: Order, record: RunRecord) -> NoReturn:
        """Wait with a lane that cannot continue now; the whole run waits once no other lane is running."""
        report = record.report or {}
        if record.outcome not in ("needs_person", "limit"):
            self._parent.halt(f"lane {order.lane!r} stopped where it stood: {report.get('summary') or record.outcome}")
        asked = report.get("question") or {"kind": "budget", "text": str(report.get("summary") or ""), "agent": ""}
        agent = str(asked.get("agent") or order.agent)
        self._waiting[order.lane] = {**asked, "agent": f"{order.lane}/{agent}", "run": asked.get("run") or record.run}
        self._look_later()
        try:
            await asyncio.Event().wait()
        finally:
            del self._waiting[order.lane]
        raise AssertionError("the event is never set")

    # ------------------------------------------------------------ the folder of a lane

    async def _note(self, order: Order, run: str) -> LaneNote:
        """The lane's note, written first if there is none."""
        async with self._beginning:
            found = read_note(self._parent.folder, order.lane)
            if found is not None:
                if found.order != order.to_json():
                    raise ConfigError(
                        f"this run has had a lane {order.lane!r} with another task, agent or model; give this one "
                        "another name"
                    )
                return found
            folder = lane_folder(self._parent.settings.workspace, run)
            check_free(folder)
            note = LaneNote(order.to_json(), folder, next_number(self._parent.folder), self._parent.step())
            lane_settings(self._parent.settings, note, run)
            write_note(self._parent.folder, note)
            return note

    async def _make(self, order: Order, run: str, note: LaneNote, settings: Settings) -> LaneNote:
        """Make the folder and run the setup command; the note records that it is made, or why it failed."""
        parent = self._parent
        try:
            async with self._beginning:
                files = await parent.capture(f"lane {order.lane}")
            await _in_thread(make_folder, parent.settings, note.folder, files)
            share_state(note.folder, settings.state_dir, settings.environ)
            command = order.setup or settings.lanes.setup
            if command is not None:
                limit = duration_ms(settings.lanes.setup_timeout)
                running = settings.state_dir / "running" / run
                await run_setup(settings, command, timeout_ms=limit, running=running)
        except (ConfigError, SetupFailed, WorkspaceError) as error:
            await asyncio.to_thread(remove_folder, note.folder)
            shutil.rmtree(temporary_folder(settings, run), ignore_errors=True)
            note = note.failed(str(error))
        except asyncio.CancelledError:  # a later start makes the folder again
            remove_folder(note.folder)
            raise
        else:
            note = replace(note, state="made")
        write_note(parent.folder, note)
        return note


async def _in_thread(make: Callable[..., None], *given: Any) -> None:
    """Run a function with an argument `is_stopped` in a thread; a cancellation waits until it has returned."""
    stop = threading.Event()
    making = asyncio.ensure_future(asyncio.to_thread(make, *given, is_stopped=stop.is_set))
    try:
        await asyncio.shield(making)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.gather(making, return_exceptions=True)
        raise


def _hear(task: asyncio.Task[dict[str, Any]]) -> None:
    """Retrieve the exception of a stopped lane, so that asyncio does not report it; the lane's record has it."""
    if not task.cancelled():
        task.exception()

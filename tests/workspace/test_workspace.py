"""The asyncio adapter: the port's contracts, and a loop that never waits for a disk."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from rawko.runtime.ports import Workspace, WorkspaceError
from rawko.testing.conformance.workspace import WORKSPACE_CONTRACTS, Contract
from rawko.workspace import SnapshotStore, SnapshotWorkspace
from rawko.workspace.repository.locks import FileLock

Place = Any


class SnapshotHarness:
    """Workspaces of one folder, all of the same run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        (folder / "workspace").mkdir()

    def workspace(self) -> AbstractAsyncContextManager[Workspace]:
        return self._workspace()

    @asynccontextmanager
    async def _workspace(self) -> AsyncIterator[Workspace]:
        opened = await SnapshotWorkspace.open(self._folder / "workspace", self._folder / "state", run="run")
        async with opened as workspace:
            yield workspace


@pytest.mark.parametrize("contract", WORKSPACE_CONTRACTS, ids=str)
async def test_contract(contract: Contract, tmp_path: Path) -> None:
    await contract.check(SnapshotHarness(tmp_path))


def test_the_contracts_are_numbered_in_order() -> None:
    assert [str(contract) for contract in WORKSPACE_CONTRACTS] == [
        f"W-{number:02}" for number in range(1, len(WORKSPACE_CONTRACTS) + 1)
    ]


async def test_the_loop_goes_on_while_the_store_works(place: Place) -> None:
    """The store's lock is held by somebody else, so the capture waits: in its own thread."""
    place.write("file")
    async with await SnapshotWorkspace.open(place.workspace, place.state, run="run") as workspace:
        lock = FileLock(place.state / "store.lock")
        with lock.alone():
            capture = asyncio.ensure_future(workspace.capture("one"))
            for _ in range(100):
                await asyncio.sleep(0)
            assert not capture.done()
        assert place.names((await capture).tree) == {b"file"}


async def test_a_capture_that_is_cancelled_at_work_is_finished(place: Place) -> None:

    place.write("file")
    store = SnapshotStore.open(place.workspace, place.state, run="run")
    workspace = SnapshotWorkspace(store)
    with FileLock(place.state / "store.lock").alone():
        capture = asyncio.ensure_future(workspace.capture("cancelled", ["file"]))
        waiting = asyncio.ensure_future(workspace.capture("never begun", ["other"]))
        await asyncio.sleep(0.05)
        capture.cancel()
        waiting.cancel()
        results = await asyncio.gather(capture, waiting, return_exceptions=True)
        assert all(isinstance(one, asyncio.CancelledError) for one in results)
        place.write("other")
    assert [one.label for one in await workspace.log()] == ["cancelled"]
    assert place.names((await workspace.capture("next", [])).tree) == {b"file", b"other"}
    await workspace.aclose()
    assert place.git("fsck", "--strict", "--full") == b""


async def test_an_open_that_nobody_waits_for_gives_the_run_back(place: Place) -> None:

    place.state.mkdir()
    with FileLock(place.state / "store.lock").alone():
        opening = asyncio.ensure_future(SnapshotWorkspace.open(place.workspace, place.state, run="run"))
        await asyncio.sleep(0.05)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
    for thread in threading.enumerate():
        if thread.name.startswith("rawko-workspace"):
            await asyncio.to_thread(thread.join)
    await (await SnapshotWorkspace.open(place.workspace, place.state, run="run")).aclose()


async def test_a_failed_open_says_why_and_leaves_no_thread(place: Place) -> None:
    place.workspace.rmdir()
    with pytest.raises(WorkspaceError, match="is not a folder"):
        await SnapshotWorkspace.open(place.workspace, place.state, run="run")


async def test_a_diff_of_bytes_that_are_not_text_can_be_printed(place: Place) -> None:
    async with await SnapshotWorkspace.open(place.workspace, place.state, run="run") as workspace:
        before = await workspace.capture("before")
        place.write(b"caf\xe9.txt", b"caf\xe9 \xc3\xbc\n")
        after = await workspace.capture("after")
        text = await workspace.diff(before.tree, after.tree)
        assert text.splitlines()[-1] == "+caf\\xe9 ü"
        assert '"b/caf\\351.txt"' in text
        text.encode()


async def test_closing_while_a_capture_runs_waits_for_it(place: Place) -> None:
    place.write("file")
    workspace = await SnapshotWorkspace.open(place.workspace, place.state, run="run")
    capture = asyncio.ensure_future(workspace.capture("last"))
    await asyncio.sleep(0)
    await workspace.aclose()
    assert (await capture).label == "last"
    assert workspace.root == os.fspath(place.workspace.resolve())
    assert [one.label for one in place.open().log()] == ["last"]

"""The actors of adoption, on real folders and snapshots: merged, refused, taken back, begun again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from rawko.app.lanes.adoption import Adoption
from rawko.runtime.actor_kinds import ActorFailed
from rawko.workspace import SnapshotWorkspace

BASE = {"a.txt": "1\n2\n3\n4\n5\n6\n7\n", "b.txt": "b\n"}


class Place:
    """A folder with its run, and a lane that has begun with the same files."""

    def __init__(self, base: Path) -> None:
        self.base, self.folder, self.lane_folder = base, base / "project", base / "lane"
        self.halted: list[str] = []

    async def open(self) -> Place:
        for folder in (self.folder, self.lane_folder):
            folder.mkdir()
            self.write(folder, BASE)
        self.workspace = await SnapshotWorkspace.open(self.folder, self.base / "state", run="r")
        self.lane = await SnapshotWorkspace.open(self.lane_folder, self.base / "state", run="r__a")
        await self.workspace.capture("start")
        await self.lane.capture("start")
        self.adoption = Adoption(self.workspace, self.base / "state", self.halted.append)
        return self

    def write(self, folder: Path, files: dict[str, str]) -> None:
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")

    async def lane_makes(self, **files: str) -> None:
        self.write(self.lane_folder, {name.replace("_", "."): text for name, text in files.items()})
        await self.lane.capture("write")

    def here(self) -> dict[str, str]:
        return {path.name: path.read_text(encoding="utf-8") for path in sorted(self.folder.iterdir())}

    async def before(self) -> Any:
        return (await self.adoption.capture_files({"label": "before a"}))["snapshot"]


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    made = await Place(tmp_path).open()
    yield made
    for workspace in (made.workspace, made.lane):
        await workspace.aclose()


async def test_the_changes_of_a_lane_are_merged_with_edits_made_meanwhile(place: Place) -> None:
    await place.lane_makes(a_txt="one\n2\n3\n4\n5\n6\n7\n", c_txt="c\n")
    place.write(place.folder, {"a.txt": "1\n2\n3\n4\n5\n6\nSEVEN\n"})
    done = await place.adoption.adopt_lane({"run": "r__a"})
    assert (done["is_adopted"], done["changes"], done["conflicts"]) == (True, ["a.txt", "c.txt"], [])
    assert "+one" in done["diff"]
    assert place.here() == {"a.txt": "one\n2\n3\n4\n5\n6\nSEVEN\n", "b.txt": "b\n", "c.txt": "c\n"}


async def test_an_adoption_that_is_begun_again_changes_nothing_more(place: Place) -> None:
    await place.lane_makes(a_txt="one\n2\n3\n4\n5\n6\n7\n", c_txt="c\n")
    place.write(place.folder, {"a.txt": "1\n2\n3\n4\n5\n6\nSEVEN\n"})
    await place.adoption.adopt_lane({"run": "r__a"})
    then = place.here()
    again = await place.adoption.adopt_lane({"run": "r__a"})
    assert (again["is_adopted"], again["changes"], place.here()) == (True, [], then)


@pytest.mark.parametrize("actor", ["plan_adoption", "adopt_lane", "bring_in"])
async def test_what_is_obeyed_in_the_folder_is_not_taken_over(place: Place, actor: str) -> None:
    places = [place.folder / "hooks", place.folder / "c.txt"]
    adoption = Adoption(place.workspace, place.base / "state", place.halted.append, obeyed=lambda: places)
    await place.lane_makes(a_txt="one\n", c_txt="c\n")
    before = place.here()
    more = (None,) if actor == "bring_in" else ()
    with pytest.raises(ActorFailed) as caught:
        await getattr(adoption, actor)({"run": "r__a"}, *more)
    assert "'r__a' changes c.txt, which git or rawko obeys" in str(caught.value)
    assert place.here() == before
    places.pop()
    assert not (await adoption.plan_adoption({"run": "r__a"}))["is_refused"]


async def test_a_conflict_changes_nothing(place: Place) -> None:
    await place.lane_makes(a_txt="lane\n", b_txt="lane\n")
    place.write(place.folder, {"a.txt": "mine\n"})
    done = await place.adoption.adopt_lane({"run": "r__a"})
    assert (done["is_adopted"], done["conflicts"], done["changes"]) == (False, ["a.txt"], [])
    assert place.here() == {"a.txt": "mine\n", "b.txt": "b\n"}


async def test_what_is_taken_back_leaves_edits_that_others_made_since(place: Place) -> None:
    await place.lane_makes(a_txt="one\n2\n3\n4\n5\n6\n7\n", c_txt="c\n")
    before = await place.before()
    after = (await place.adoption.adopt_lane({"run": "r__a"}))["snapshot"]
    place.write(place.folder, {"a.txt": "one\n2\n3\n4\n5\n6\nSEVEN\n", "mine.txt": "mine\n"})
    for _ in range(2):  # a process that was killed does it again
        await place.adoption.take_back({"before": before, "after": after})
        assert place.here() == {"a.txt": "1\n2\n3\n4\n5\n6\nSEVEN\n", "b.txt": "b\n", "mine.txt": "mine\n"}


async def test_a_line_that_a_person_has_changed_since_is_the_person_s(place: Place) -> None:
    await place.lane_makes(b_txt="lane\n", c_txt="c\n")
    before = await place.before()
    after = (await place.adoption.adopt_lane({"run": "r__a"}))["snapshot"]
    place.write(place.folder, {"b.txt": "mine\n"})
    await place.adoption.take_back({"before": before, "after": after})
    assert place.here() == {"a.txt": BASE["a.txt"], "b.txt": "mine\n"}


async def test_a_lane_that_was_removed_cannot_be_adopted(place: Place) -> None:
    with pytest.raises(ActorFailed, match="r__gone"):
        await place.adoption.adopt_lane({"run": "r__gone"})
    assert place.halted == []

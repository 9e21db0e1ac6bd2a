"""Properties over random workspaces and random edits."""
# pathlib has no paths of bytes:
# ruff: noqa: PTH101, PTH103, PTH108, PTH112, PTH114, PTH115, PTH116, PTH118, PTH120, PTH123, PTH208, PTH211

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rawko.workspace.names import to_text

Place = Any

component = st.one_of(
    st.sampled_from([b"a", b"b", b"a.b", b"a-b", b"A"]),
    st.binary(min_size=1, max_size=12).filter(
        lambda name: (
            not set(name) & {0, 0x2F} and name not in (b".", b"..") and name.lower() not in (b".git", b".gitignore")
        )
    ),
)
path = st.lists(component, min_size=1, max_size=4).map(tuple)
payload = st.tuples(
    st.sampled_from(["file", "file", "file", "program", "link"]),
    st.one_of(st.binary(max_size=40), st.sampled_from([b"same", b"a\r\nb", b""])),
)
edits = st.lists(st.tuples(path, st.one_of(st.none(), payload)), min_size=1, max_size=12)
NO_RESET = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


def remove(target: bytes) -> None:
    if os.path.isdir(target) and not os.path.islink(target):
        shutil.rmtree(target)
    elif os.path.lexists(target):
        os.unlink(target)


def apply(root: bytes, parts: tuple[bytes, ...], what: tuple[str, bytes] | None) -> list[tuple[bytes, ...]]:
    """Do one edit; the paths that a careful tool would report."""
    for depth in range(1, len(parts)):
        above = os.path.join(root, *parts[:depth])
        if os.path.lexists(above) and not (os.path.isdir(above) and not os.path.islink(above)):
            os.unlink(above)
    target = os.path.join(root, *parts)
    remove(target)
    if what is None:
        return [parts]
    os.makedirs(os.path.dirname(target), exist_ok=True)
    kind, data = what
    if kind == "link":
        os.symlink(data.replace(b"\0", b"0") or b"nothing", target)
    else:
        with open(target, "wb") as file:
            file.write(data)
        os.chmod(target, 0o755 if kind == "program" else 0o600)
    return [parts]


def disk(root: bytes) -> dict[bytes, tuple[bytes, bytes]]:
    """What is there, by an independent walk: path to (mode, content)."""
    found: dict[bytes, tuple[bytes, bytes]] = {}
    for folder, folders, names in os.walk(root):
        for name in names + [one for one in folders if os.path.islink(os.path.join(folder, one))]:
            full = os.path.join(folder, name)
            if os.path.islink(full):
                entry = (b"120000", os.readlink(full))
            else:
                mode = b"100755" if os.stat(full).st_mode & 0o100 else b"100644"
                entry = (mode, Path(os.fsdecode(full)).read_bytes())
            found[os.path.relpath(full, root)] = entry
    return found


def stored(place: Place, tree: str) -> dict[bytes, tuple[bytes, bytes]]:
    """What git finds in a tree: path to (mode, content)."""
    listed = place.paths(tree)
    ids = b"\n".join(oid for _, oid in listed.values())
    data, contents = place.git("cat-file", "--batch", given=ids), {}
    at = 0
    while at < len(data):
        end = data.index(b"\n", at)
        oid, _, size = data[at:end].split()
        contents[oid] = data[end + 1 : end + 1 + int(size)]
        at = end + 2 + int(size)
    return {path: (mode, contents[oid]) for path, (mode, oid) in listed.items()}


@pytest.mark.slow
@settings(max_examples=30, deadline=None, suppress_health_check=NO_RESET)
@given(rounds=st.lists(edits, min_size=1, max_size=3))
def test_a_capture_holds_the_files_and_hints_find_what_a_full_look_finds(place: Place, rounds: Any) -> None:
    """Three runs follow the same edits: one always looks at everything, one is told, one starts afresh at the end."""
    root = os.fsencode(place.workspace)
    for name in os.listdir(root):
        remove(os.path.join(root, name))
    place.close()
    number = len(place.stores)
    looking, told = place.open(f"looking-{number}"), place.open(f"told-{number}")
    looking.capture()
    told.capture()
    for edits_of_round in rounds:
        touched = [path for parts, what in edits_of_round for path in apply(root, parts, what)]
        hints = [to_text(b"/".join(parts)) for parts in touched]
        full, hinted = looking.capture(), told.capture(hints)
        assert stored(place, full.tree) == disk(root)
        assert hinted.tree == full.tree
        assert looking.capture().tree == full.tree
    assert place.open(f"late-{number}").capture().tree == full.tree

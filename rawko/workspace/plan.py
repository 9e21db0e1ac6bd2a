"""What has to change on disk to get from the mirror to a stored tree, as data; and whether it may be done.

The checks here come before the first file is touched: everything needed is in the store, nothing that nobody has
captured stands in the way. Doing it is `restore`'s.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rawko.runtime.ports import WorkspaceError
from rawko.workspace.mirror import File, Folder
from rawko.workspace.names import Parts, is_git_name, to_parts, to_text
from rawko.workspace.objects import MODE_EXECUTABLE, MODE_FILE, MODE_FOLDER, MODE_LINK, Objects

_MODES = frozenset({MODE_FILE, MODE_EXECUTABLE, MODE_LINK, MODE_FOLDER})


@dataclass(frozen=True, slots=True)
class Step:
    """One path that changes: from `before` (None: not captured) to `after` (None: removed)."""

    parts: Parts
    before: File | None
    after: File | None

    @property
    def path(self) -> bytes:
        return b"/".join(self.parts)


def plan(objects: Objects, mirror: Folder, tree: bytes, *, left_alone: Sequence[str] = ()) -> tuple[Step, ...]:
    """The steps from the mirror, whose trees are written, to a stored tree: removals first, deepest first.

    Args:
        left_alone: Paths of which the tree knows nothing; neither they nor what lies beneath get a step.

    Raises:
        WorkspaceError: An object of the tree is missing, or a name in it could do harm.
    """
    try:
        unknown = {to_parts(path) for path in left_alone}
        steps = [step for step in _compare(objects, mirror, tree, ()) if unknown.isdisjoint(prefixes(step.parts))]
    except KeyError as error:
        raise WorkspaceError(f"tree {tree.hex()} cannot be restored: an object of it is missing: {error}") from error
    for step in steps:
        if step.after is not None and not objects.has(step.after.oid):
            path = to_text(step.path)
            raise WorkspaceError(
                f"tree {tree.hex()} cannot be restored: the contents of {path!r} are missing from the store", path=path
            )
    removals = [step for step in steps if step.after is None]
    writes = [step for step in steps if step.after is not None]
    return (*sorted(removals, key=lambda step: step.parts, reverse=True), *sorted(writes, key=lambda step: step.parts))


def prefixes(parts: Parts) -> Iterator[Parts]:
    """The path of each folder on the way, from the outermost, and the path itself."""
    return (parts[:length] for length in range(1, len(parts) + 1))


def _compare(objects: Objects, folder: Folder | None, tree: bytes | None, above: Parts) -> Iterator[Step]:
    if folder is not None and folder.oid == tree:
        return
    files: dict[bytes, File] = {}
    trees: dict[bytes, bytes] = {}
    for name, mode, oid in objects.read_tree(tree) if tree is not None else ():
        _check(name, mode, above)
        if mode == MODE_FOLDER:
            trees[name] = oid
        else:
            files[name] = File(mode, oid)
    known = folder.files if folder is not None else {}
    folders = folder.folders if folder is not None else {}
    for name in known.keys() | files.keys():
        before, after = known.get(name), files.get(name)
        if before is None or after is None or before[:2] != after[:2]:
            yield Step((*above, name), before, after)
    for name in folders.keys() | trees.keys():
        yield from _compare(objects, folders.get(name), trees.get(name), (*above, name))


def _check(name: bytes, mode: int, above: Parts) -> None:
    if name in (b"", b".", b"..") or b"/" in name or is_git_name(name) or mode not in _MODES:
        path = to_text(b"/".join((*above, name)))
        raise WorkspaceError(
            f"a tree that holds {path!r} (mode {mode:o}) is not restored: no capture makes it", path=path
        )

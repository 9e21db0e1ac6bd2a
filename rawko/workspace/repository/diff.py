"""Differences between two stored trees: the changed paths with line counts, and the text of `git diff`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

import pygit2
from pygit2.enums import DiffOption

from rawko.runtime.ports import WorkspaceError
from rawko.vocabulary.snapshot import FileChange, StepChange
from rawko.workspace.capture.mirror import File
from rawko.workspace.names import Parts, to_text
from rawko.workspace.repository.objects import MODE_FOLDER, MODE_LINK, Objects
from rawko.workspace.restore.plan import Step

Entries = dict[bytes, tuple[int, bytes]]
"""The entries of a tree: mode and id by name."""


def changes(repository: pygit2.Repository, objects: Objects, before: str, after: str) -> tuple[FileChange, ...]:
    """Paths that differ, sorted by path, with the lines that a unified diff adds and removes.

    A path that changes its type (a file that becomes a link) is one modification.

    Raises:
        WorkspaceError: A tree is not in the store, or a file cannot be read.
    """
    old, new = (_contents(repository, objects, name) for name in (before, after))
    try:
        found = [_change_of(repository, objects, step) for step in _steps(objects, (), old, new)]
    except (pygit2.GitError, KeyError) as error:
        raise WorkspaceError(f"trees {before} and {after} cannot be compared: {error}") from error
    return tuple(sorted(found, key=lambda change: change.path))


def step_changes(
    repository: pygit2.Repository, objects: Objects, first: str, before: str, after: str
) -> tuple[StepChange, ...]:
    """Paths that differ between the trees `before` and `after`, sorted, each with its difference between `first` and
    `after`.

    The cost depends on the paths that this step changed, not on all changes since the first tree. Example, one line a
    file:

        first {a: 1}    before {a: 2, b: 1}    after {a: 1, b: 2}        ->  a unchanged, b added

    Raises:
        WorkspaceError: A tree is not in the store, or a file cannot be read.
    """
    start, old, new = (_contents(repository, objects, name) for name in (first, before, after))
    try:
        found = [_since(repository, objects, start, step) for step in _steps(objects, (), old, new)]
    except (pygit2.GitError, KeyError) as error:
        raise WorkspaceError(f"trees {first}, {before} and {after} cannot be compared: {error}") from error
    return tuple(sorted(found, key=lambda change: change.path))


def _since(repository: pygit2.Repository, objects: Objects, start: Entries, step: Step) -> StepChange:
    was = _file_at(objects, start, step.parts)
    if was == step.after:
        return StepChange(path=to_text(step.path), kind="unchanged")
    return StepChange(**_change_of(repository, objects, Step(step.parts, was, step.after)).to_json())


def _file_at(objects: Objects, entries: Entries, parts: Parts) -> File | None:
    """The file or link at a path of a tree; None if there is a folder, or nothing."""
    for name in parts[:-1]:
        mode, oid = entries.get(name, (0, b""))
        if mode != MODE_FOLDER:
            return None
        entries = _entries(objects, oid)
    found = entries.get(parts[-1])
    return None if found is None or found[0] == MODE_FOLDER else File(*found)


def steps_between(objects: Objects, old: bytes, new: bytes) -> Iterator[Step]:
    """The files and links in which two stored trees differ; a file replaced by a folder is a removal and additions.

    Raises:
        KeyError: A tree is missing, or damaged.
    """
    return _steps(objects, (), _entries(objects, old), _entries(objects, new))


def _steps(objects: Objects, above: Parts, before: Entries, after: Entries) -> Iterator[Step]:
    for name in {name for name, _ in before.items() ^ after.items()}:
        one, other = before.get(name), after.get(name)
        parts = (*above, name)
        folders = [None if entry is None or entry[0] != MODE_FOLDER else entry[1] for entry in (one, other)]
        if any(folders):
            inner = [{} if tree is None else _entries(objects, tree) for tree in folders]
            yield from _steps(objects, parts, *inner)
        files = [None if entry is None or entry[0] == MODE_FOLDER else File(*entry) for entry in (one, other)]
        if any(files):
            yield Step(parts, *files)


def changes_of(repository: pygit2.Repository, objects: Objects, steps: Iterable[Step]) -> tuple[FileChange, ...]:
    """The changes of these steps, as `changes` reports them, without reading trees.

    Raises:
        WorkspaceError: The contents of a file are not in the store.
    """
    try:
        return tuple(_change_of(repository, objects, step) for step in sorted(steps, key=lambda step: step.path))
    except (pygit2.GitError, KeyError) as error:
        raise WorkspaceError(f"the files cannot be compared: {error}") from error


def unified(
    repository: pygit2.Repository, objects: Objects, before: str, after: str, paths: Collection[str] | None = None
) -> bytes:
    """The unified diff as `git diff` prints it; contents are the files' own bytes, odd names are quoted.

    Args:
        paths: The paths to show, as `changes` names them; None shows all.

    Raises:
        WorkspaceError: A tree is not in the store.
    """
    return b"".join(
        _text(patch) for patch in _patches(repository, objects, before, after) if paths is None or _path(patch) in paths
    )


def _text(patch: pygit2.Patch) -> bytes:
    """One file's part, corrected where libgit2 departs from git.

    If only the mode changes, git does not print the contents' ids. It leaves out `---` and `+++` if there are no lines
    to show (an empty file), and ends them with a tab if the name contains a blank, so that `patch` knows where the name
    ends.
    """
    data: bytes = patch.data
    if patch.delta.old_file.id == patch.delta.new_file.id:
        return b"".join(data.splitlines(keepends=True)[:3])
    if patch.delta.is_binary:
        return data
    head, mark, hunks = data.partition(b"\n@@ ")
    if not mark:
        return head.partition(b"\n--- ")[0].removesuffix(b"\n") + b"\n"
    *above, old, new = head.split(b"\n")
    return b"\n".join((*above, _with_tab(old), _with_tab(new))) + mark + hunks


def _with_tab(line: bytes) -> bytes:
    return line + b"\t" if b" " in line[4:] else line


def _patches(repository: pygit2.Repository, objects: Objects, before: str, after: str) -> Iterator[pygit2.Patch]:
    old, new = _tree(repository, objects, before), _tree(repository, objects, after)
    try:
        _check(objects, bytes(old.id.raw), bytes(new.id.raw))
        difference = old.diff_to_tree(new, flags=DiffOption.NORMAL, context_lines=3, interhunk_lines=0)
        for patch in difference:
            if patch is not None:
                yield patch
    except (pygit2.GitError, KeyError) as error:
        raise WorkspaceError(f"trees {before} and {after} cannot be compared: {error}") from error


def _check(objects: Objects, old: bytes | None, new: bytes | None) -> None:
    """Check that everything in which two trees differ can be read.

    Raises:
        KeyError: A part is missing, or damaged.
    """
    before, after = ({} if tree is None else _entries(objects, tree) for tree in (old, new))
    for name in before.keys() | after.keys():
        one, other = before.get(name), after.get(name)
        if one == other:
            continue
        folders = [None if entry is None or entry[0] != MODE_FOLDER else entry[1] for entry in (one, other)]
        if any(folders):
            _check(objects, *folders)
        for entry in (one, other):
            if entry is not None and entry[0] != MODE_FOLDER:
                objects.check(entry[1])


def _entries(objects: Objects, tree: bytes) -> Entries:
    return {name: (mode, oid) for name, mode, oid in objects.read_tree(tree)}


def _contents(repository: pygit2.Repository, objects: Objects, name: str) -> Entries:
    """The entries of a tree, given by its id or by the id of a commit.

    Raises:
        WorkspaceError: There is no such tree, or it is damaged.
    """
    try:
        return _entries(objects, bytes.fromhex(name))
    except (KeyError, ValueError):  # the id of a commit, or none: `_tree` decides
        tree = _tree(repository, objects, name)
    try:
        return _entries(objects, bytes(tree.id.raw))
    except KeyError as error:
        raise WorkspaceError(f"{name!r} names no tree of the snapshot store: {error}") from error


def _tree(repository: pygit2.Repository, objects: Objects, name: str) -> pygit2.Tree:
    """The tree with this id, or of the commit with this id."""
    try:
        oid = pygit2.Oid(hex=name)
        if oid in repository.odb:
            objects.check(bytes(oid.raw))
        found = repository.get(pygit2.Oid(hex=name))
        if found is not None:
            tree: pygit2.Oid | None = getattr(found, "tree_id", None)  # of a commit
            if tree is not None:
                objects.check(bytes(tree.raw))
            return found.peel(pygit2.Tree)
    except (pygit2.GitError, KeyError, ValueError) as error:
        raise WorkspaceError(f"{name!r} names no tree of the snapshot store: {error}") from error
    raise WorkspaceError(f"tree {name!r} is not in the snapshot store; known are the trees of its snapshots")


def _path(patch: pygit2.Patch) -> str:
    delta = patch.delta
    return to_text(delta.new_file.raw_path or delta.old_file.raw_path)


def _change_of(repository: pygit2.Repository, objects: Objects, step: Step) -> FileChange:
    before, after = (_blob(repository, objects, file) for file in (step.before, step.after))
    if step.before is not None and step.after is not None and _is_link(step.before) != _is_link(step.after):
        return _join(_compared(step, before, None), _compared(step, None, after))
    return _compared(step, before, after)


def _compared(step: Step, before: pygit2.Blob | None, after: pygit2.Blob | None) -> FileChange:
    patch = pygit2.Patch.create_from(before, after, flag=DiffOption.NORMAL)
    _, added, removed = patch.line_stats
    return FileChange(
        path=to_text(step.path),
        kind="added" if step.before is None else "deleted" if step.after is None else "modified",
        added_lines=added,
        removed_lines=removed,
        is_binary=bool(patch.delta.is_binary),
    )


def _blob(repository: pygit2.Repository, objects: Objects, file: File | None) -> pygit2.Blob | None:
    if file is None:
        return None
    objects.check(file.oid)
    return repository[pygit2.Oid(raw=file.oid)].peel(pygit2.Blob)


def _is_link(file: File) -> bool:
    return file.mode == MODE_LINK


def _join(one: FileChange, other: FileChange) -> FileChange:
    return FileChange(
        path=one.path,
        kind="modified",
        added_lines=one.added_lines + other.added_lines,
        removed_lines=one.removed_lines + other.removed_lines,
        is_binary=one.is_binary or other.is_binary,
    )

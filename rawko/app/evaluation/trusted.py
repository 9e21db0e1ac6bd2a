"""Requires the user's trust for the shell commands of tasks, since a repository may contain them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rawko.app.evaluation.tasks import FILE, EvalTask
from rawko.cutting import cut
from rawko.trust.items import Item
from rawko.trust.project import Judge, Project

_SHOWN: int = 200


def require(root: Path, tasks: Sequence[EvalTask], judge: Judge) -> None:
    """Check that the user trusts the commands of the tasks; asks one question about all that are new.

    Args:
        root: The folder of the tasks.

    Raises:
        NotTrusted: The user does not trust them.
    """
    Project(root, judge).require([_item(task) for task in tasks if task.commands])


def _item(task: EvalTask) -> Item:
    commands = "; ".join(cut(command, _SHOWN) for command in task.commands)
    text = f"each attempt at it runs: {commands}"
    return Item("evaluation", f"evaluation.{task.name}", text, f"{task.name}/{FILE}", content=task.digest)

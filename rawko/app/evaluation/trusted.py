"""What tasks run by a shell needs the user's trust, as any command that a project runs: a repository may hold them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rawko.app.evaluation.tasks import FILE, EvalTask
from rawko.cutting import cut
from rawko.trust.items import Item
from rawko.trust.project import Judge, Project

_SHOWN: int = 200


def require(root: Path, tasks: Sequence[EvalTask], judge: Judge) -> None:
    """Make sure that the commands of the tasks are trusted; asks one question about those that are not.

    Args:
        root: The folder of the tasks.

    Raises:
        NotTrusted: They are not.
    """
    Project(root, judge).require([_item(task) for task in tasks if task.commands])


def _item(task: EvalTask) -> Item:
    commands = "; ".join(cut(command, _SHOWN) for command in task.commands)
    text = f"each attempt at it runs: {commands}"
    return Item("evaluation", f"evaluation.{task.name}", text, f"{task.name}/{FILE}", content=task.digest)

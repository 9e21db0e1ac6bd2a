"""The folders of explorations and their names, without the modules that run or read an exploration."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from rawko.app.records.run_names import is_name

PLAN: Final = "plan.json"
"""The file whose presence makes a folder an exploration."""


def explorations_folder(state_dir: Path) -> Path:
    return state_dir / "explorations"


def names_in(folder: Path) -> list[str]:
    """The ids of all explorations of a folder, oldest start first."""
    return sorted(found.parent.name for found in folder.glob(f"*/{PLAN}"))


def is_exploration(state_dir: Path, run: str) -> bool:
    """Whether there is an exploration with this id."""
    return is_name(run) and (explorations_folder(state_dir) / run / PLAN).is_file()

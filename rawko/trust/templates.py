"""Reads a project's own prompt templates, confined to their folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rawko.trust.project import Project


class ProjectTemplates:
    """Templates in a folder of a project, or in a folder elsewhere (a fork uses those of its origin).

    Args:
        folder: Contains a folder for each machine.
    """

    def __init__(self, project: Project, folder: Path) -> None:
        inside = project.files.relative(folder)
        self._files = project.files if inside is not None else project.at(folder).files
        self._base = inside or "."
        self._folder = folder

    def names(self, machine: str) -> Sequence[str]:
        return self._files.names(f"{self._base}/{machine}") or ()

    def text(self, machine: str, name: str) -> str | None:
        return self._files.text(f"{self._base}/{machine}/{name}")

    def place(self, machine: str, name: str) -> str:
        return str(self._folder / machine / name)

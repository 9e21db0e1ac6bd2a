"""Reads the files of fragments that a project's chart uses: through the project's confined reader, and no other way."""

from __future__ import annotations

import posixpath

from rawko.chart.fragments.files import FragmentFiles, FragmentUnreadable
from rawko.trust.confined import ProjectFiles
from rawko.trust.errors import ConfinedError


def fragment_files(files: ProjectFiles, chart: str) -> FragmentFiles:
    """The files of fragments of a chart.

    Args:
        chart: Its path in the project, with slashes.
    """

    def read(name: str) -> str:
        path = posixpath.join(posixpath.dirname(chart), name)
        try:
            text = files.text(path)
        except ConfinedError as error:
            raise FragmentUnreadable(f"cannot read the fragment {name!r}: {error}") from None
        if text is None:
            raise FragmentUnreadable(f"cannot read the fragment {name!r}: there is no file {path!r} in the project")
        return text

    return read

"""A project's instructions to agents: the text of its AGENTS.md, else of its CLAUDE.md."""

from __future__ import annotations

from typing import Final

from rawko.trust.confined import ProjectFiles
from rawko.trust.errors import ConfigError

MAX_INSTRUCTION_CHARS: Final = 100_000
_FILES: Final = ("AGENTS.md", "CLAUDE.md")


def project_instructions(files: ProjectFiles) -> str:
    """The project's instructions to agents: the text of AGENTS.md, else of CLAUDE.md, else "".

    Raises:
        ConfigError: The path leads out of the project, is not a file, or the file is too large.
    """
    for name in _FILES:
        data = files.read(name)
        if data is None:
            continue
        text = data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
        if len(text) > MAX_INSTRUCTION_CHARS:
            raise ConfigError(
                f"{files.root / name}: {len(text)} characters; accepted: at most {MAX_INSTRUCTION_CHARS}, since every "
                "model call carries them"
            )
        return text
    return ""

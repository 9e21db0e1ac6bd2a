"""What a project tells agents in words: its AGENTS.md, else its CLAUDE.md."""

from __future__ import annotations

from typing import Final

from rawko.trust.confined import ProjectFiles
from rawko.trust.errors import ConfigError

MAX_INSTRUCTION_CHARS: Final = 100_000
_FILES: Final = ("AGENTS.md", "CLAUDE.md")


def project_instructions(files: ProjectFiles) -> str:
    """What the project tells agents: its AGENTS.md, else its CLAUDE.md, else "".

    Raises:
        ConfigError: The file leads out of the project, is none, or is too large.
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

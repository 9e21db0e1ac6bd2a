"""The sandbox for commands: only the workspace is writable, and no file that git or rawko obeys later can be changed.

`obeyed` is the table of files that git or rawko obeys. `places` finds those of a workspace, and `repositories` where a
repository points. `baseline` records the state before a command, `bubblewrap` builds the command line that mounts it
read-only, and `quarantine` moves out what is new after the command. `stand_ins` enforces deny rules at execution.
"""

from rawko.tools.sandbox.bubblewrap import ENVIRONMENT, Sandbox, SandboxError, find_sandbox

__all__ = ["ENVIRONMENT", "Sandbox", "SandboxError", "find_sandbox"]

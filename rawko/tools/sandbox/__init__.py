"""Commands in a sandbox: the workspace writable, nothing else, and nothing left in it that git or rawko obeys later.

`obeyed` is the table of files that are obeyed, `places` finds those that a workspace holds, `repositories` reads where
a repository points, `baseline` is what a command finds, `bubblewrap` shows it read-only, `quarantine` moves out what is
new after the command.
"""

from rawko.tools.sandbox.bubblewrap import ENVIRONMENT, Sandbox, SandboxError, find_sandbox

__all__ = ["ENVIRONMENT", "Sandbox", "SandboxError", "find_sandbox"]

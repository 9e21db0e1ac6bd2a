"""`rawko init`: writes the built-in agents and a configuration as files, with their JSON Schemas for editors."""

from __future__ import annotations

import json
from pathlib import Path

from rawko.cli.output import complain, visible_line
from rawko.config import BUILT_IN_AGENTS, FOLDER, schemas
from rawko.named_files import link_out

CONFIG_TEXT = """\
# Settings of rawko for this project; everything is optional. Flags and environment variables win over it.
# provider: anthropic            # or openai: any server of the chat completions API; or scripted
# model: claude-sonnet-5
# base_url: http://localhost:11434
# openai_base_url: http://localhost:8000
max_iterations: 50
max_consecutive_failures: 3

# Rules are checked in order; of the commands in a bash call the strictest decision counts; see docs/agents.md.
rules: []
#  - deny bash(git push*)
#  - allow bash(python3 -m pytest*)
#  - ask write(docs/**)

# US dollars per million tokens, so that runs can say what they cost:
# prices:
#   claude-sonnet-5: {input: 3, output: 15, cache_read: 0.3, cache_write: 3.75}

# Limits of a whole run, checked before each call; a run that reaches one waits, and is resumed with a larger one:
# budget: {tokens: 2000000, cost_usd: 5, time: 1h}

# What a run does with a question that no person can answer: park (wait in the journal), fail, or default (below).
# headless: park
# default_answers: {clarify: "Decide yourself, and say what you assumed.", approval: deny}
"""


def init_command(folder: Path, *, force: bool) -> int:
    """Write `.rawko/`; existing files are kept unless `force` is set."""
    base = folder / FOLDER
    files = {base / "config.yaml": _header("config", up="") + CONFIG_TEXT}
    for path in sorted(BUILT_IN_AGENTS.glob("*.yaml")):
        files[base / "agents" / path.name] = _header("agent", up="../") + path.read_text(encoding="utf-8")
    for name, schema in schemas().items():
        files[base / "schema" / f"{name}.json"] = json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
    if out := next((path for path in files if link_out(folder, path)), None):
        told = f"{out.relative_to(folder)}: a link leads out of the folder, to {str(link_out(folder, out))!r}"
        return complain(f"{told}; nothing was written")
    if odd := next((path for path in files if path.exists() and not path.is_file()), None):
        return complain(f"{odd.relative_to(folder)}: it is no file; nothing was written")
    kept: list[Path] = []
    written: list[Path] = []
    try:
        for path, text in files.items():
            if path.exists() and not force and path.suffix != ".json":
                kept.append(path)
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            written.append(path)
    except OSError as error:
        for path in written:
            print(visible_line(f"wrote {path.relative_to(folder)}"))
        return complain(f"{error.filename or base}: cannot be written: {error.strerror}")
    for path in written:  # printed last, so that a closed pipe cannot stop the writing
        print(visible_line(f"wrote {path.relative_to(folder)}"))
    for path in kept:
        print(visible_line(f"kept  {path.relative_to(folder)} (is there already; --force overwrites)"))
    return 0


def _header(schema: str, *, up: str) -> str:
    return f"# yaml-language-server: $schema={up}schema/{schema}.json\n"

"""`rawko new chart|agent NAME`: files to begin with, which run as they are. Nothing that is there is overwritten."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from rawko.cli.output import complain, visible_line
from rawko.config import FOLDER
from rawko.vocabulary.documents import accepted

_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,60}")
_CHART: Final = """\
# A chart: `rawko simulate {name}.yaml` steps through it, `rawko diagram {name}.yaml -o {name}.svg` draws it.
statechart:
  name: {name}
  root state:
    name: {name}
    initial: idle
    states:
      - name: idle
        transitions:
          - {{event: START, guard: is_ready, target: working}}
      - name: working
        on entry: count_start
        after: {{30s: failed}}
        transitions:
          - {{event: DONE, target: done}}
      - {{name: done, type: final}}
      - {{name: failed, type: final}}
"""
_BINDINGS: Final = '''\
"""What the names in {name}.yaml stand for: `rawko check {name}.yaml --bindings {name}` checks them."""

from typing import Any

from rawko import Bindings, assign

bindings = Bindings()


@bindings.guard
def is_ready(context: Any, event: Any) -> bool:
    """Whether the work may begin."""
    return True


@bindings.action
def count_start(context: Any, event: Any) -> Any:
    """Count how often the work was begun."""
    return assign(starts=context.get("starts", 0) + 1)
'''
_FEATURE: Final = """\
Feature: {name}
  What {name}.yaml promises; `rawko test {name}.yaml` runs it.

  Scenario: The work is done
    Given state "idle" is active
    And guard "is_ready" is true
    When I send event START
    Then state "working" is active
    And action "count_start" is called
    When I send event DONE
    Then state "done" is active

  Scenario: Work that takes too long fails
    Given state "working" is active
    When I wait 31 seconds
    Then state "failed" is active

  Scenario: What is not ready is not begun
    Given state "idle" is active
    And guard "is_ready" is false
    When I send event START
    Then state "idle" is active
    And event START is denied
"""
_TEST: Final = '''\
"""The chart with its own functions: `python -m pytest test_{name}.py`."""

from pathlib import Path

from {name} import bindings

from rawko.testing import create_test_actor


def test_the_work_is_counted() -> None:
    actor = create_test_actor(Path(__file__).with_name("{name}.yaml"), bindings)
    actor.send("START")
    assert actor.matches("working")
    assert actor.context["starts"] == 1
'''
_AGENT: Final = """\
# An agent: `rawko run "TASK" --agent {name}` runs it alone; the arbiter may choose it, too.
name: {name}
when_to_use: When {name} is the right one; the arbiter chooses by this sentence.
system_prompt: |
  You are {name}. Say here what it does, how it works, and when it is done.
  End with `complete` and a summary.
tools:
  allowed: [read, glob, grep, write, edit, bash]
limits: {{turns: 30, tool_steps: 100}}
"""


def new_command(kind: str, name: str, folder: Path) -> int:
    """Write the files of a chart or an agent; the exit code is 2 where one is there already."""
    if kind not in _KINDS:
        return complain(f"new: {kind!r}{accepted(_KINDS, found=kind)}")
    if not _NAME.fullmatch(name) or keyword.iskeyword(name):
        return complain(f"{name!r} is no name; accepted: small letters, digits and _, beginning with a letter")
    files = _KINDS[kind](name)
    taken = [path for path in files if (folder / path).exists()]
    if taken:
        return complain(f"{', '.join(map(str, taken))}: is there already; nothing was written")
    try:
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
            print(visible_line(f"wrote {path}"))
    except OSError as error:
        return complain(f"{error.filename or folder}: cannot be written: {error.strerror}")
    print(visible_line(_NEXT[kind].format(name=name)))
    return 0


def _chart(name: str) -> Mapping[Path, str]:
    texts = {f"{name}.yaml": _CHART, f"{name}.py": _BINDINGS, f"{name}.feature": _FEATURE, f"test_{name}.py": _TEST}
    return {Path(file): text.format(name=name) for file, text in texts.items()}


def _agent(name: str) -> Mapping[Path, str]:
    return {Path(FOLDER) / "agents" / f"{name}.yaml": _AGENT.format(name=name)}


_KINDS: Final[Mapping[str, Callable[[str], Mapping[Path, str]]]] = {"chart": _chart, "agent": _agent}
_NEXT: Final = {
    "chart": "next: rawko test {name}.yaml; rawko simulate {name}.yaml",
    "agent": 'next: rawko run "TASK" --agent {name}. A project with agents of its own has these alone: '
    "rawko init writes the built-in ones beside it",
}

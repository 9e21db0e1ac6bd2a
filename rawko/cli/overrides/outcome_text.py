"""What became of an override, in words or as one line of JSON."""

from __future__ import annotations

from rawko.app.overrides.override import Override, Reply
from rawko.cli.output import visible_json, visible_line
from rawko.vocabulary.shown_states import shown_states

"""The first active state is the root of every chart, and says nothing."""


def told(override: Override | str, reply: Reply) -> str:
    """One line for people."""
    states = " ".join(shown_states(reply.state))
    after = f": {reply.why}" if reply.why else f"; the run is in {states}" if states else ""
    return visible_line(f"{override}: {reply.receipt}{after}")


def as_json(run: str, override: Override, reply: Reply) -> str:
    """One line for programs."""
    return visible_json({"run": run, "override": override.kind, **reply.to_json()})

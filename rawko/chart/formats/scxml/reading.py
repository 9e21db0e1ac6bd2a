"""Imports an SCXML document as a `Chart`: states, transitions, defaults, invocations.

`content` reads executable content, `data` the data model, `invoking` invocations. Where the two languages differ in
meaning (the transition domain of SCXML is the nearest *compound* ancestor), the import reports a loss.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rawko.chart.assemble import assemble
from rawko.chart.definition import Action, BlockAction, Chart, CodeGuard, Constant, Json, Transition
from rawko.chart.errors import ChartDefinitionError, shown
from rawko.chart.formats.exchange import Imported
from rawko.chart.formats.names import printable
from rawko.chart.formats.scxml.conditions import condition
from rawko.chart.formats.scxml.content import block, parameters
from rawko.chart.formats.scxml.data import computed_output, late_data, preamble
from rawko.chart.formats.scxml.domains import differs_in_domain
from rawko.chart.formats.scxml.invoking import invocations
from rawko.chart.formats.scxml.python_code import expression
from rawko.chart.formats.scxml.source import OWN_DATA_MODEL, PYTHON, STATES, Source
from rawko.chart.formats.scxml.xml import RAWKO, XmlElement, read_xml
from rawko.chart.grammar import ERROR_POLICIES, SELECTIONS
from rawko.chart.lint.legality import legality
from rawko.chart.reading.reader import Unreadable
from rawko.chart.reading.states import ChartDraft, StateDraft
from rawko.chart.reading.transitions import EntryDraft, TransitionDraft

_INSIDE = frozenset(
    (*STATES, "initial", "transition", "onentry", "onexit", "invoke", "donedata", "datamodel", "script")
)
_MARKED = frozenset(("initial", "memory", "output"))


def import_scxml(
    text: str,
    *,
    file: str = "<scxml>",
    trusted: bool = False,
    data_model: str | None = None,
    folder: Path | None = None,
    lenient: bool = False,
) -> Imported:
    """The chart of an SCXML document.

    Args:
        trusted: Accept the Python code of a document with the data model `python`.
        data_model: Read its code in this data model, whatever the document declares.
        folder: The only folder in which files that it names (`src`) are read; None: they are refused.
        lenient: Leave out transitions to states that do not exist, as some engines do, and report them as losses.

    Raises:
        ChartSyntaxError: The text is not XML, or contains a document type declaration.
        ChartDefinitionError: It is not SCXML, or needs a missing data model; `diagnostics` holds every place.
    """
    root = read_xml(text, file)
    source = Source(root, file, is_trusted=trusted, data_model=data_model, folder=folder, is_lenient=lenient)
    chart = _document(source)
    defects = list(source.diagnostics)
    if chart is not None and not source.reader.is_partial:
        defects += legality(chart)
    if chart is None or defects:
        raise ChartDefinitionError(sorted(defects))
    for transition in chart.transitions:
        if differs_in_domain(chart, transition):
            _tell_domain(source, transition)
    return Imported(chart, source.losses.sorted)


def _tell_domain(source: Source, transition: Transition) -> None:
    message = (
        f"a transition of {transition.source!r} stays inside the parallel state around it and its targets; "
        "SCXML leaves and enters that state again"
    )
    source.losses.add(transition.position, message)


def _document(source: Source) -> Chart | None:
    root = source.root
    if root.tag != "scxml":
        source.report("unknown-key", root, f"the root is <{root.tag}>, no <scxml> in SCXML's namespace")
        return None
    draft = _state(source, root)
    values: dict[str, Any] = {"name": printable(root.attributes.get("name", draft.name)), "root state": draft}
    errors = root.attributes.get(f"{RAWKO} errors", "rollback" if source.is_own else "scxml")
    if errors not in ERROR_POLICIES:
        source.report("invalid-value", root, f"errors is one of {', '.join(ERROR_POLICIES)}, found {shown(errors)}")
    values["errors"] = errors
    selection = root.attributes.get(f"{RAWKO} selection", "inner" if source.is_own else "scxml")
    if selection not in SELECTIONS:
        source.report("invalid-value", root, f"selection is one of {', '.join(SELECTIONS)}, found {shown(selection)}")
    values["selection"] = selection
    if source.is_code:
        values |= {"data model": PYTHON, "preamble": preamble(source)}
    return assemble(ChartDraft(root.position, values, {}), source.reader, may_have_code=True)


def _state(source: Source, element: XmlElement) -> StateDraft:
    """A state with its content; parts that cannot be read are reported and left out."""
    for child in element.children:
        _check_child(source, element, child)
    name = source.name(element)
    children = list(element.of(*STATES))
    values: dict[str, Any] = {
        "on entry": _block(source, element, "onentry"),
        "on exit": _block(source, element, "onexit"),
    }
    for key, read in _PARTS:
        try:
            values[key] = read(source, element)
        except Unreadable:
            continue
    if children:
        below = "parallel states" if element.tag == "parallel" else "states"
        values[below] = [_state(source, child) for child in children]
    given = {key: value for key, value in values.items() if value not in (None, (), [])}
    keys = {key: element.position for key in given if key in _MARKED}
    return StateDraft(element.position, name, element.position, given, keys)


def _check_child(source: Source, element: XmlElement, child: XmlElement) -> None:
    if child.tag.startswith("{"):
        source.lost(child, f"foreign element {shown(child.tag)} is left out")
    elif child.tag not in _INSIDE:
        source.report("unknown-key", child, f"<{child.tag}> is not accepted in <{element.tag}>")
    elif source.is_code and (child.tag == "datamodel" or (child.tag == "script" and element is source.root)):
        return
    elif child.tag == "script" and source.is_code:
        source.report(
            "unknown-key", child, f"<script> is not accepted in <{element.tag}>; accepted: in <scxml>, in content"
        )
    elif child.tag == "script" or (child.tag == "datamodel" and child.children):
        _refuse_data(source, child)
    elif element.tag == "final" and child.tag in ("transition", "invoke", *STATES):
        source.report("conflicting-keys", child, f"<{child.tag}> is not accepted in <final>")


def _refuse_data(source: Source, child: XmlElement) -> None:
    try:
        if source.data_model in ("", "null", OWN_DATA_MODEL):
            message = f"<{child.tag}> needs a data model; give the machine its first context as input instead"
            source.fail("needs-data-model", child, message)
        source.needs_data_model(child, f"<{child.tag}>")
    except Unreadable:
        return


def _block(source: Source, element: XmlElement, tag: str) -> tuple[Action, ...]:
    """All handlers of one kind; if there are several, each is a separate block."""
    handlers = [(handler.position, block(source, handler)) for handler in element.of(tag)]
    if tag == "onentry" and source.is_code and source.is_late and element is not source.root:
        handlers.insert(0, (element.position, late_data(source, element)))
    filled = [(position, found) for position, found in handlers if found]
    if len(filled) < 2:
        return filled[0][1] if filled else ()
    return tuple(BlockAction(found, position) for position, found in filled)


def _kind(source: Source, element: XmlElement) -> str | None:
    if element.tag == "final":
        return "final"
    if element.tag != "history":
        return None
    depth = element.attributes.get("type", "shallow")
    if depth not in ("shallow", "deep"):
        source.fail("invalid-value", element, f"a history is 'shallow' or 'deep', found {shown(depth)}")
    return f"{depth} history"


# ---------------------------------------------------------------- defaults


def _initial(source: Source, element: XmlElement) -> EntryDraft | None:
    children = list(element.of(*STATES))
    if element.tag in ("parallel", "final", "history") or not children:
        return None
    written = element.attributes.get("initial", "").split()
    if written:
        return EntryDraft(tuple(written))
    for initial in element.of("initial"):
        return _default(source, initial)
    return EntryDraft((source.name(children[0]),))


def _memory(source: Source, element: XmlElement) -> EntryDraft | None:
    return _default(source, element) if element.tag == "history" else None


def _default(source: Source, element: XmlElement) -> EntryDraft | None:
    """The default transition of an initial or history element."""
    for transition in element.of("transition"):
        return EntryDraft(tuple(source.required(transition, "target").split()), block(source, transition))
    return None


def _output(source: Source, element: XmlElement) -> Json:
    if source.is_code:
        return computed_output(source, element)
    for donedata in element.of("donedata"):
        for content in donedata.of("content"):
            return _content(source, content)
        return parameters(source, donedata) or None
    return None


def _content(source: Source, element: XmlElement) -> Json:
    value = source.literal(element, element.attributes.get("expr") or element.text, "content")
    if isinstance(value, str):
        source.lost(element, "an output that is a text is left out: a text would name a bound output function")
        return None
    return value


# ---------------------------------------------------------------- transitions and invocations


def _transitions(source: Source, element: XmlElement) -> list[TransitionDraft]:
    found: list[TransitionDraft] = []
    for child in element.of("transition") if element.tag not in ("final", "history") else ():
        try:
            found.append(_transition(source, element, child))
        except Unreadable:
            continue
    return found


def _transition(source: Source, owner: XmlElement, element: XmlElement) -> TransitionDraft:
    targets = tuple(element.attributes.get("target", "").split())
    if source.is_lenient and (missing := source.unknown(targets)) is not None:
        source.lost(element, f"a transition of {source.name(owner)!r} is left out: there is no state {missing!r}")
        raise Unreadable
    events = element.attributes.get("event", "").split()
    draft = TransitionDraft(
        element.position,
        events=tuple(descriptor for event in events for descriptor in _descriptors(source, element, event)),
        targets=targets,
        target_positions=(element.position,) * len(targets),
        actions=block(source, element),
        internal=element.attributes.get("type") == "internal" and _keeps(source, owner, targets),
    )
    text = element.attributes.get("cond", "").strip()
    if text and source.is_code:
        is_constant = text.lower() in ("true", "false")
        code = CodeGuard(expression(text), element.position)
        draft.guard = Constant(text.lower() == "true") if is_constant else code
    elif text:
        draft.guard = condition(text, element.position, allows_names=source.is_own)
        if draft.guard is None:
            source.needs_data_model(element, f"cond {shown(text)}")
    return draft


def _keeps(source: Source, owner: XmlElement, targets: tuple[str, ...]) -> bool:
    """Whether SCXML honours `internal`: the source is compound and contains all targets."""
    inside = set(source.names_inside(owner))
    return owner.tag != "parallel" and bool(targets) and inside.issuperset(targets)


def _descriptors(source: Source, element: XmlElement, event: str) -> tuple[str, ...]:
    """`a` also matches `a.b`; `*` matches every event, errors too."""
    name = event.removesuffix("*").removesuffix(".")
    if event in ("*", ".*"):
        return ("*", "error.*")
    if not name or "*" in name:
        source.fail("invalid-event", element, f"{shown(event)} is no event descriptor: accepted 'a', 'a.*', '*'")
    return (f"{name}.*",)


_PARTS = (
    ("type", _kind),
    ("initial", _initial),
    ("memory", _memory),
    ("transitions", _transitions),
    ("invoke", invocations),
    ("output", _output),
)

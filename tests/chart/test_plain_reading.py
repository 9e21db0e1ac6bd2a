"""Fast ways of reading what most charts consist of: each gives what the general way gives, defects and places too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from rawko.chart.errors import ChartSyntaxError
from rawko.chart.expressions.parser import parse_call, parse_guard
from rawko.chart.grammar import MAX_NAME, TRANSITION
from rawko.chart.reading import behaviour, transitions, values
from rawko.chart.reading.reader import Reader, Unreadable
from rawko.chart.reading.types import READERS
from rawko.chart.source.composer import compose
from rawko.chart.source.nodes import Document, ScalarNode
from rawko.chart.source.scalars import scalar_value

NAMES = st.sampled_from(
    ("a", "E", "on", "is_ready", "π", "a²", "a b", "a.b", "1", "1.5", "true", "TRUE", "null", "not", "class", "~",
     "in_state", "*", "a.*", "a*b", "", " a", "a\u202e", "x" * MAX_NAME, "x" * (MAX_NAME + 1), "done.state.a")
)  # fmt: skip
EXPRESSIONS = st.one_of(
    NAMES,
    st.sampled_from(
        ("a(n=1)", "a(n='x', m=event.x)", "a(n=)", "a(n=1, n=2)", "not a", "a and b", "in_state('a')", "true(n=1)",
         "class(n=1)", "a(x)", "a²(n=1)", " a(n=1)", "a(n=event._x)", "x == 1", "a(n=007)")
    ),
)  # fmt: skip
NODES = st.builds(
    ScalarNode, EXPRESSIONS, st.sampled_from((None, None, None, "'", '"')), st.just(None), st.just(3), st.just(7)
)


def reader_of(document: Document | None = None, *, is_trusted: bool = False) -> Reader:
    document = document or Document(ScalarNode("", None, None, 1, 1), "\n\n      a b c", "f")
    return Reader(document, READERS, is_trusted=is_trusted)


def read(reader: Reader, function: Callable[[], Any]) -> Any:
    """What is read, with its places, and the defects."""
    try:
        found = repr(function())
    except Unreadable:
        found = "unreadable"
    return found, [str(each) for each in reader.diagnostics]


@given(NODES, st.booleans())
def test_a_plain_name_is_one_that_every_reader_of_names_takes_as_it_is(node: ScalarNode, was_read: bool) -> None:
    reader = reader_of()
    if was_read:
        read(reader, lambda: values.name(reader, ScalarNode(node.text, None, None, 1, 1)))
        reader.diagnostics.clear()
    if values.is_plain_name(node, reader):
        assert type(scalar_value(node)) in (str, int)
        assert read(reader, lambda: values.checked_name(reader, node, node.text)) == (repr(node.text), [])


@given(NODES, st.booleans())
@example(ScalarNode("TRUE", None, None, 1, 1), False)
def test_a_plain_call_is_what_the_parser_reads(node: ScalarNode, is_trusted: bool) -> None:
    reader, general = reader_of(is_trusted=is_trusted), reader_of()
    if behaviour._plain_call(reader, node) is None:
        return
    assert not is_trusted
    assert isinstance(scalar_value(node), str)
    assert repr(behaviour.guard(reader, node)) == repr(behaviour._expression(general, node, parse_guard, "guard"))
    (action,) = behaviour.actions(reader, node)
    assert repr(action) == repr(behaviour._expression(general, node, parse_call, "action"))  # with its position
    assert reader.diagnostics == general.diagnostics == []


PAIRS = st.one_of(
    st.tuples(st.sampled_from(("event", "target")), NAMES),
    st.tuples(st.sampled_from(("guard", "action")), EXPRESSIONS),
    st.sampled_from(
        (("event", "[A, B]"), ("target", "[a, b]"), ("internal", "true"), ("priority", "high"), ("evnt", "A"))
    ),
)


@given(st.lists(PAIRS, max_size=5, unique_by=lambda pair: pair[0]), st.booleans())
@example([("guard", "x == 1"), ("event", "E"), ("target", "a"), ("action", "a and b")], False)
@example([("event", "a*b"), ("target", "a*b")], False)
def test_a_plain_transition_is_what_the_general_way_reads(pairs: list[tuple[str, str]], is_trusted: bool) -> None:
    text = ", ".join(f"{key}: {value if ',' not in value or value[0] == '[' else repr(value)}" for key, value in pairs)
    try:
        document = compose(f"{{{text}}}", "f")
    except ChartSyntaxError:
        return
    fast, slow = reader_of(document, is_trusted=is_trusted), reader_of(document, is_trusted=is_trusted)
    draft = transitions._plain_transition(fast, document.root)
    if draft is None:
        assert fast.diagnostics == document.diagnostics
        return
    wanted = read(slow, lambda: transitions._transition(slow, document.root, TRANSITION))
    assert read(fast, lambda: draft) == wanted

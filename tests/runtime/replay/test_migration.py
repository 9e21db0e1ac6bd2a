"""Actors that go on in another version of their chart: by its rules, in one row, or not at all and with all reasons."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rawko import Actor, Bindings, ChildMachine, assign, child_machine, parse_chart
from rawko.chart import Chart
from rawko.interpreter import MigrationError
from rawko.runtime import JournalError, MemoryJournal
from rawko.runtime.replay.replay import ReplayError, replay
from rawko.runtime.replay.rewind_records import jump_of

ORDER = """
statechart:
  name: order
  version: VERSION
  migrate: RULES
  root state:
    name: order
    initial: FIRST
    states:
      - name: FIRST
        transitions:
          - {event: ADD, action: add}
          - {event: PAY, target: paying}
      - name: paying
        invoke:
          {src: payment, on restore: resume, autoforward: true, on done: {target: paid, action: keep}, on error: FIRST}
      - {name: paid, transitions: [{event: SEND, target: sent}]}
      - {name: sent, type: final, output: {outcome: sent}}
"""
PAYMENT = """
statechart:
  name: payment
  version: VERSION
  migrate: RULES
  root state:
    name: payment
    initial: FIRST
    states:
      - {name: FIRST, transitions: [{event: PIN, target: done}]}
      - {name: done, type: final, output: {outcome: paid}}
"""


def chart_of(text: str, version: str, first: str, rules: str = "[]") -> Chart:
    return parse_chart(text.replace("VERSION", version).replace("FIRST", first).replace("RULES", rules))


ORDER_1, PAYMENT_1 = chart_of(ORDER, "1", "basket"), chart_of(PAYMENT, "1", "asking")
ORDER_2 = chart_of(ORDER, "2", "cart", "{from: 1, states: {basket: cart}, action: [{assign: {currency: CHF}}]}")
PAYMENT_2 = chart_of(PAYMENT, "2", "waiting", "{from: 1, states: {asking: waiting}}")
ORDER_3 = chart_of(ORDER, "3", "list", "[{from: 1, states: {basket: cart}}, {from: 2, states: {cart: list}}]")


def bindings_of(payment: Chart) -> Bindings:
    bindings = Bindings()

    @bindings.action
    def add(context: Any, event: Any) -> Any:
        return assign(count=context.get("count", 0) + 1)

    @bindings.action
    def keep(context: Any, event: Any) -> Any:
        return assign(paid=event.data["output"]["outcome"])

    @child_machine
    def payment_of(input: Any) -> ChildMachine:
        return ChildMachine(payment, Bindings(), {})

    bindings.add("actor", "payment", payment_of)
    return bindings


async def left(journal: MemoryJournal, *events: str) -> None:
    """An actor of the first versions that has stopped after some events."""
    await played(Actor(ORDER_1, bindings_of(PAYMENT_1), id="order-7", journal=journal), events)


async def played(actor: Actor, events: Sequence[str]) -> dict[str, Any]:
    async with actor:
        for event in events:
            actor.send(event)
            for _ in range(30):  # machines, and an actor that is a machine, take their turns
                await asyncio.sleep(0)
        return actor.snapshot()


async def test_an_actor_goes_on_in_the_next_version_of_its_chart() -> None:
    journal = MemoryJournal()
    await left(journal, "ADD", "ADD")
    resuming = Actor.resume("order-7", ORDER_2, bindings_of(PAYMENT_1), journal=journal, earlier=[ORDER_1])
    async with resuming as actor:
        assert actor.matches("cart")
        assert dict(actor.context) == {"count": 2, "currency": "CHF"}
        actor.send("ADD")
        await actor.wait_for(lambda a: a.context["count"] == 3, timeout_s=10)
    row = next(jump for each in await journal.rows("order-7") if (jump := jump_of(each)) is not None)
    assert (row.kind, row.step) == ("migrate", 3)
    assert row.charts == {
        "order": {"from": {"hash": ORDER_1.hash, "version": "1"}, "to": {"hash": ORDER_2.hash, "version": "2"}}
    }
    again = Actor.resume("order-7", ORDER_2, bindings_of(PAYMENT_1), journal=journal)
    async with again as actor:
        assert actor.context["count"] == 3
    assert sum(jump_of(each) is not None for each in await journal.rows("order-7")) == 1
    replayed = await replay(journal, "order-7", ORDER_2, bindings_of(PAYMENT_1))
    assert replayed.snapshot is not None and replayed.snapshot["context"]["count"] == 3


async def test_it_goes_on_through_two_versions_one_after_the_other_or_at_once() -> None:
    journal = MemoryJournal()
    await left(journal, "ADD")
    async with Actor.resume("order-7", ORDER_2, bindings_of(PAYMENT_1), journal=journal, earlier=[ORDER_1]):
        pass
    resuming = Actor.resume("order-7", ORDER_3, bindings_of(PAYMENT_1), journal=journal, earlier=[ORDER_1, ORDER_2])
    async with resuming as actor:
        assert actor.matches("list")
    other = MemoryJournal()
    await left(other, "ADD")
    at_once = Actor.resume("order-7", ORDER_3, bindings_of(PAYMENT_1), journal=other, earlier=[ORDER_1, ORDER_2])
    async with at_once as actor:
        assert actor.matches("list")


@pytest.mark.parametrize("order", [ORDER_1, ORDER_2], ids=["the child alone", "both"])
async def test_a_child_machine_goes_on_by_the_rules_of_its_own_chart(order: Chart) -> None:
    journal = MemoryJournal()
    await left(journal, "ADD", "PAY")
    resuming = Actor.resume("order-7", order, bindings_of(PAYMENT_2), journal=journal, earlier=[ORDER_1, PAYMENT_1])
    async with resuming as actor:
        snapshot = actor.snapshot()
        assert snapshot["children"]["payment"]["configuration"] == ["payment", "waiting"]
        actor.send("PIN")
        await actor.wait_for("paid", timeout_s=10)
        assert actor.context["paid"] == "paid"
        actor.send("SEND")
        await actor.wait_for("sent", timeout_s=10)


async def test_a_chart_that_has_changed_names_what_it_needs() -> None:
    journal = MemoryJournal()
    await left(journal, "ADD")
    with pytest.raises(ReplayError, match=r"give the one of then, too: Actor\.resume\(\.\.\., earlier="):
        await Actor.resume("order-7", ORDER_2, bindings_of(PAYMENT_1), journal=journal)
    assert len(await journal.rows("order-7")) == 2


async def test_what_has_no_place_is_told_for_all_machines_and_nothing_is_written() -> None:
    journal = MemoryJournal()
    await left(journal, "PAY")
    invoke = "{src: payment, on restore: resume, on error: cart}"
    states = f"[{{name: cart}}, {{name: paying, invoke: {invoke}}}]"
    root = f"{{name: order, initial: cart, states: {states}}}"
    order = parse_chart(f"statechart: {{name: order, version: 2, root state: {root}}}")
    payment = chart_of(PAYMENT, "2", "waiting")
    resuming = Actor.resume("order-7", order, bindings_of(payment), journal=journal, earlier=[ORDER_1, PAYMENT_1])
    with pytest.raises(MigrationError) as caught:
        await resuming
    assert [problem.split(";")[0] for problem in caught.value.problems] == [
        "root/payment: state 'asking' is not in the chart any more (is it 'waiting' now?)",
    ]
    rows = await journal.rows("order-7")
    assert all(jump_of(row) is None for row in rows)
    async with Actor.resume("order-7", ORDER_1, bindings_of(PAYMENT_1), journal=journal) as actor:
        assert actor.matches("paying")


class Failing(MemoryJournal):
    """A store that fails, as one that is full does, or whose process is killed before it answers."""

    def __init__(self, *, is_written: bool) -> None:
        super().__init__()
        self.is_written = is_written
        self.is_failing = False

    async def append(self, record: Any) -> None:
        if self.is_failing and jump_of(record) is not None:
            if self.is_written:
                await super().append(record)
            raise JournalError("the disk is full")
        await super().append(record)


@pytest.mark.parametrize("is_written", [False, True])
async def test_a_migration_has_happened_or_has_not(is_written: bool) -> None:
    journal = Failing(is_written=is_written)
    await left(journal, "ADD")
    journal.is_failing = True
    with pytest.raises(JournalError, match="the disk is full"):
        await Actor.resume("order-7", ORDER_2, bindings_of(PAYMENT_1), journal=journal, earlier=[ORDER_1])
    journal.is_failing = False
    async with Actor.resume("order-7", ORDER_2, bindings_of(PAYMENT_1), journal=journal, earlier=[ORDER_1]) as actor:
        assert actor.matches("cart") and actor.context["count"] == 1
    assert sum(jump_of(each) is not None for each in await journal.rows("order-7")) == 1


STEPS = st.lists(st.sampled_from(["ADD", "PAY", "PIN", "SEND"]), max_size=6)


@given(before=STEPS, after=STEPS)
def test_an_actor_that_is_migrated_answers_as_one_that_never_was(before: list[str], after: list[str]) -> None:
    async def both() -> None:
        journal, other = MemoryJournal(), MemoryJournal()
        await played(Actor(ORDER_1, bindings_of(PAYMENT_1), id="a", journal=journal), before)
        wanted = await played(Actor(ORDER_2, bindings_of(PAYMENT_2), id="a", journal=other), before)
        if wanted["done"]:
            return
        resuming = await Actor.resume(
            "a", ORDER_2, bindings_of(PAYMENT_2), journal=journal, earlier=[ORDER_1, PAYMENT_1]
        )
        found = await played(resuming, after)
        wanted = await played(await Actor.resume("a", ORDER_2, bindings_of(PAYMENT_2), journal=other), after)
        assert _told(found) == _told(wanted)

    asyncio.run(both())


def _told(snapshot: Mapping[str, Any]) -> Any:
    context = {name: value for name, value in snapshot["context"].items() if name != "currency"}
    return snapshot["configuration"], context, snapshot["children"].keys(), snapshot["done"]

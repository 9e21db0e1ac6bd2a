"""Dialogs: an answer to a question, a confirmation, a line of text, a choice, the list of keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from rawko.tui.drawing.cells import CellLine, fitted, wrapped
from rawko.tui.widgets.lines import Lines

Answer = tuple[str, str] | None
"""Kind ("answer", "approve", "deny", "rule") and text; None where a person left the dialog."""


def _draw_line(line: CellLine, width: int, is_open: bool) -> Sequence[CellLine]:
    return [line]


class Dialog(ModalScreen[Answer]):
    """A frame with a title, scrolling lines, an optional text field, and the keys."""

    DEFAULT_CSS = """
    Dialog { align: center middle; background: #0b0e13 70%; }
    Dialog > Vertical {
        width: 90%; max-width: 120; height: auto; max-height: 90%;
        border: round #f2c55c; background: #161b22; padding: 0 1;
    }
    Dialog .title { height: auto; color: #e6e9ef; text-style: bold; }
    Dialog .keys { height: auto; color: #f0a04b; }
    Dialog .more { height: auto; color: #f2c55c; }
    Dialog .note { height: auto; color: #ff7b85; }
    Dialog .rule { height: auto; color: #8b949e; }
    Dialog Lines { height: auto; min-height: 1; background: #161b22; }
    Dialog Input, Dialog Input:focus { height: 1; border: none; background: #0b0e13; padding: 0; }
    Dialog.-narrow > Vertical { width: 100%; border: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", show=False)]

    def __init__(self, title: str, lines: Sequence[CellLine], keys: str) -> None:
        super().__init__()
        self._title = title
        self._lines = lines
        self._keys = keys
        self.is_closed = False

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static(Content(self._title), classes="title", markup=False)
            shown: Lines[CellLine] = Lines(_draw_line, id="told", follows=False)
            yield shown
            yield Static(Content(""), classes="more", markup=False)
            yield from self.fields()
            yield Static(Content(""), classes="note", markup=False)
            yield Static(Content(self._keys), classes="keys", markup=False)

    @property
    def below(self) -> str:
        """Text between the lines and the field; "" for none."""
        return ""

    def fields(self) -> ComposeResult:
        """Widgets between the lines and the keys."""
        return iter(())

    def on_mount(self) -> None:
        self.set_class(self.app.size.width < 50, "-narrow")
        told = self.query_one("#told", Lines)
        told.append(self._lines)
        told.go_to(0)
        told.display = bool(self._lines)
        below = len(list(wrapped(self.below, self.app.size.width * 9 // 10 - 4))) if self.below else 0
        room = self.app.size.height * 9 // 10 - 8 - below
        more = self.query_one(".more", Static)
        more.display = len(self._lines) > max(room, 1)
        if more.display:  # after blank lines, what follows is easily missed
            room -= 2
            more.update(Content(f"{len(self._lines)} lines: PageDown shows more"))
        told.styles.height = max(min(len(self._lines), room), 1)
        self.focus_first()

    def focus_first(self) -> None:
        self.query_one("#told", Lines).focus()

    def close_question(self, why: str) -> None:
        """Disable the dialog's keys, because its question is not open any more; `why` is shown."""
        self.is_closed = True
        self.query_one(".note", Static).update(Content(f"{why}; Escape closes this"))

    def action_leave(self) -> None:
        self.dismiss(None)


class Confirm(Dialog):
    """A confirmation before an action that loses work."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "yes", show=False),
        Binding("n,q", "leave", show=False),
    ]

    def __init__(self, title: str, lines: Sequence[CellLine]) -> None:
        super().__init__(title, lines, "y yes · n no")

    def action_yes(self) -> None:
        self.dismiss(("yes", ""))


class Approval(Dialog):
    """A tool call to allow or refuse, with everything it would do.

    Args:
        rule: The rule that `r` saves, shown in the dialog; "" where none is offered, for the reason `why_not`.

    Attributes:
        number: Number of the question that the answer is for.
    """

    KEYS: Final = "o once · t this tool · w always · d deny · n no, with a reason · Escape later"
    KEYS_WITH_RULE: Final = KEYS.replace("· w", "· r this rule · w")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "decide('approve','once')", show=False),
        Binding("t", "decide('approve','tool')", show=False),
        Binding("w", "decide('approve','always')", show=False),
        Binding("r", "keep", show=False),
        Binding("d", "decide('deny','')", show=False),
        Binding("n", "reason", show=False),
        Binding("q", "leave", show=False),
    ]

    def __init__(
        self, title: str, lines: Sequence[CellLine], number: int | None, rule: str = "", why_not: str = ""
    ) -> None:
        super().__init__(title, lines, self.KEYS_WITH_RULE if rule else self.KEYS)
        self.number = number
        self._rule = rule
        self._why_not = why_not

    @property
    def below(self) -> str:
        if self._rule:
            return f"r keeps the rule for this folder: {self._rule}"
        return f"no rule is offered to keep: {self._why_not}" if self._why_not else ""

    def fields(self) -> ComposeResult:
        yield Static(Content(self.below), classes="rule", markup=False)
        field = Input(placeholder="why not; the agent gets it", id="reason")
        field.display = False
        yield field

    def action_decide(self, kind: str, text: str) -> None:
        if not self.is_closed:
            self.dismiss((kind, text))

    def action_keep(self) -> None:
        if self._rule and not self.is_closed:
            self.dismiss(("rule", self._rule))

    def action_reason(self) -> None:
        field = self.query_one("#reason", Input)
        field.display = True
        field.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if not self.is_closed:
            self.dismiss(("deny", event.value.strip()))


class Ask(Dialog):
    """A line of text: an answer, a message, the task of a fork."""

    def __init__(
        self,
        title: str,
        lines: Sequence[CellLine],
        *,
        kind: str,
        number: int | None = None,
        may_be_empty: bool = False,
        given: str = "",
        verb: str = "sends",
    ) -> None:
        super().__init__(title, lines, f"Enter {verb} · Escape leaves it")
        self._kind = kind
        self._given = given
        self._may_be_empty = may_be_empty
        self.number = number

    def fields(self) -> ComposeResult:
        yield Input(self._given, id="text", select_on_focus=False)

    def focus_first(self) -> None:
        self.query_one("#text", Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if self.is_closed or (not event.value.strip() and not self._may_be_empty):
            return
        self.dismiss((self._kind, event.value.strip()))


class Choose(Dialog):
    """A choice from a list."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "take", show=False, priority=True),
        Binding("q", "leave", show=False),
    ]

    def __init__(self, title: str, choices: Sequence[tuple[str, str]]) -> None:
        lines = [((f"{name}  ", "agent"), (why, "dim")) for name, why in choices]
        super().__init__(title, lines, "↑ ↓ choose · Enter takes it · Escape leaves it")
        self._choices = choices

    def action_take(self) -> None:
        if self._choices:
            name, _ = self._choices[self.query_one("#told", Lines).cursor]
            self.dismiss(("choice", name))


class Help(Dialog):
    """The list of all keys."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("q,question_mark,enter", "leave", show=False)]

    def __init__(self, keys: Sequence[tuple[str, str]], width: int) -> None:
        room = max(min(width, 120) - 14, 8)
        lines: list[CellLine] = []
        for key, told in keys:
            for number, piece in enumerate(wrapped(told, room)):
                lines.append(((f"{fitted(key if not number else '', 9):<9} ", "key"), (piece, "")))
        super().__init__("Keys", lines, "Escape closes")

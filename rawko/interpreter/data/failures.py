"""Exceptions that end a macrostep early; the interpreter's methods turn them into errors for the caller."""

from __future__ import annotations

from rawko.chart.definition import Position


class Failed(Exception):
    """A guard, action, input, output, delay, contract or evaluator raised; the cause is chained.

    `contract` names the kind of the failed condition: before, after or always.
    """

    def __init__(
        self,
        kind: str,
        where: str,
        function: str,
        position: Position | None,
        cause: BaseException | str,
        *,
        contract: str = "",
        element: str | int | None = None,
    ) -> None:
        super().__init__(function)
        self.kind = kind
        self.where = where
        self.function = function
        self.position = position
        self.cause = cause
        self.contract = contract
        self.element = element

    @property
    def message(self) -> str:
        if isinstance(self.cause, str):
            return self.cause
        return f"{type(self.cause).__name__}: {self.cause}" if str(self.cause) else type(self.cause).__name__


class ListenerFailed(Exception):
    """A listener raised; the caller gets the listener's own error, which is the cause."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(str(cause))
        self.cause = cause

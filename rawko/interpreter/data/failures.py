"""What ends a macrostep early: raised inside it, and turned into an error for the caller at its border."""

from __future__ import annotations

from rawko.chart.definition import Position


class Failed(Exception):
    """A guard, action, input, output, delay, contract or evaluator raised; the cause is chained.

    `contract` names the sismic class of a contract's failure: before, after or always.
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
    """A listener raised; its own error is the cause and goes to the caller as it is."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(str(cause))
        self.cause = cause

"""The error of the fleet's database and tasks."""

from __future__ import annotations

from rawko.trust.errors import ConfigError


class FleetError(ConfigError):
    """A request to the fleet that cannot be done; the message says what is accepted, and never has the database's
    password.

    Attributes:
        is_retryable: The same call may succeed in a moment: a lost connection, a server that restarts.
    """

    def __init__(self, message: str, *, is_retryable: bool = False) -> None:
        super().__init__(message)
        self.is_retryable = is_retryable

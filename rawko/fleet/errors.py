"""The error of everything that concerns the fleet's database and its tasks."""

from __future__ import annotations

from rawko.trust.errors import ConfigError


class FleetError(ConfigError):
    """What cannot be done with the fleet, and what would be accepted; never with the database's password.

    Attributes:
        is_retryable: The same call may succeed in a moment: a connection, a server that starts again.
    """

    def __init__(self, message: str, *, is_retryable: bool = False) -> None:
        super().__init__(message)
        self.is_retryable = is_retryable

"""Names of the meta-events that listeners of a machine receive: sismic's, in the order of a microstep."""

from __future__ import annotations

from typing import Final

STEP_STARTED: Final = "step started"
CONSUMED: Final = "event consumed"
PROCESSED: Final = "transition processed"
EXITED: Final = "state exited"
ENTERED: Final = "state entered"
SENT: Final = "event sent"
STEP_ENDED: Final = "step ended"
META_EVENTS: Final = (STEP_STARTED, CONSUMED, PROCESSED, EXITED, ENTERED, SENT, STEP_ENDED)

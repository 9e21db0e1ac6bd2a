"""The traceback of a defect of rawko's own, without the keys of the session."""

from __future__ import annotations

import sys
import traceback
from types import TracebackType


def mask_tracebacks() -> None:
    """Print the traceback of an exception that nothing handles with `[masked NAME]` in the place of keys."""
    sys.excepthook = _print_masked


def _print_masked(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    from rawko.app.secrecy.session_secrets import session_secrets
    from rawko.processes.keys import environment
    from rawko.vocabulary.masking import Masker

    told = "".join(traceback.format_exception(kind, error, trace))
    sys.stderr.write(Masker(session_secrets(environment())).text(told))

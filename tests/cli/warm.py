"""A warm `rawko`: a process that has loaded its modules and forks a child per command line, in a tenth of the time that
a new Python takes. Folder, environment, words and the three streams are those of the caller; nothing else is shared.

    caller ── subprocess ──> warm_caller.py ── words, folder, environment, streams ──> server ── fork ──> rawko
                                        <────────────── how it ended ──────────────

The caller has a process to wait for and to kill, as of any command. Started rawkos, those on a terminal, and those with
an environment of their own are new processes, so that the loading of modules is tested, too.
"""

from __future__ import annotations

import atexit
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NoReturn

from rawko.cli import main

CALLER: Final = Path(__file__).with_name("warm_caller.py")
_CALLING: Final = (sys.executable, "-I", "-S", str(CALLER))
LOADED: Final = (
    "anthropic",
    "ctypes",
    "jinja2.meta",
    "jinja2.sandbox",
    "jsonschema",
    "platformdirs",
    "rawko.app.time_travel.compare",
    "rawko.chart.lowering",
    "rawko.cli.commands.called",
    "rawko.cli.commands.charts",
    "rawko.cli.following.log",
    "rawko.cli.run",
    "rawko.cli.runs.differences",
    "rawko.cli.runs.history",
    "rawko.cli.runs.travel",
    "rawko.journal",
    "rawko.machines.agent_loop",
    "rawko.machines.orchestrator",
    "rawko.providers.scenario_file",
    "rawko.providers.scripted",
    "rawko.tools.commands.bash",
    "rawko.tools.files.search",
    "rawko.tools.masked_log",
    "rawko.tools.mcp",
    "rawko.tools.sandbox.quarantine",
    "rawko.tools.toolbox",
    "sqlalchemy.dialects.sqlite.aiosqlite",
    "typer._adapters",
)
"""Everything that commands and runs import; nothing of it starts a thread."""
_SERVING: Final = ("rawko.web.app", "rawko.web.report", "rawko.web.serving")
"""Loaded before the first command that needs them."""
_PASSED_ON: Final = frozenset(
    {"AGENT_DRIVER", "COLUMNS", "HOME", "LANG", "NO_COLOR", "PATH", "PYTHONDONTWRITEBYTECODE", "TERM", "USER"}
)
"""Variables that Python and its modules do not read while they load."""
_server: tuple[subprocess.Popen[bytes], str] | None = None


def calling(environ: Mapping[str, str], passed_on: Collection[str] = ()) -> Sequence[str]:
    """The words that stand before those of `rawko`: of the warm one where it makes no difference, else of a new one.

    Args:
        passed_on: Further variables that make no difference to what is tested.
    """
    return (*_CALLING, _address(environ)) if is_same(environ, passed_on) else (sys.executable, "-m", "rawko")


def is_same(environ: Mapping[str, str], passed_on: Collection[str] = ()) -> bool:
    """Whether the warm `rawko` does in an environment what a new process does."""
    is_known = all(name in _PASSED_ON or name in passed_on or name.startswith("RAWKO_") for name in environ)
    return is_known and environ.get("LANG") == "C.UTF-8" and hasattr(os, "pidfd_open")


def carry_out(
    words: Sequence[str | bytes], folder: Path, environ: Mapping[str, str], given: bytes | None, timeout_s: float
) -> tuple[int, bytes, bytes]:
    """Have the warm `rawko` carry out a command line, without a process that waits for it meanwhile: that one takes
    as long as a short command does.

    Args:
        given: Its standard input; None for none.

    Returns:
        The exit code (negative where a signal has ended it), standard output, standard error.

    Raises:
        subprocess.TimeoutExpired: It was killed after `timeout_s` seconds.
    """
    umask = os.umask(0)
    os.umask(umask)
    told = {"words": list(map(os.fsdecode, words)), "folder": str(folder), "environ": dict(environ), "umask": umask}
    with ExitStack() as stack:
        streams = [stack.enter_context(os.fdopen(os.memfd_create(name), "w+b")) for name in ("out", "err")]
        source = stack.enter_context(Path(os.devnull).open("r+b"))
        if given is not None:
            source = stack.enter_context(os.fdopen(os.memfd_create("in"), "w+b"))
            source.write(given)
            source.seek(0)
        server = stack.enter_context(socket.socket(socket.AF_UNIX))
        server.settimeout(timeout_s)
        server.connect(_address(environ))
        try:
            order = json.dumps(told).encode() + b"\n"
            sent = socket.send_fds(server, [order], [one.fileno() for one in (source, *streams)])
            server.sendall(order[sent:])
            answer = server.recv(64)
        except TimeoutError as error:
            raise subprocess.TimeoutExpired(list(words), timeout_s) from error
        out, err = (os.pread(one.fileno(), os.fstat(one.fileno()).st_size, 0) for one in streams)
    return int(answer), out, err


def _address(environ: Mapping[str, str]) -> str:
    """Where the server of this process listens; it is started at the first call."""
    global _server
    if _server is None:
        address = str(Path(tempfile.mkdtemp(prefix="warm")) / "socket")
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "tests.cli.warm", address],
            cwd=Path(__file__).parents[2],
            env={"PATH": environ["PATH"], "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": "."},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,  # like those of the callers: Python's streams remember what they were opened on
        )
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        _server = process, address
        atexit.register(_stop)
    return _server[1]


def _stop() -> None:
    assert _server is not None
    process, address = _server
    process.communicate()  # the end of its input is the end of the server
    Path(address).unlink(missing_ok=True)
    Path(address).parent.rmdir()


# ---------------------------------------------------------------- the server


def _serve(address: str) -> Sequence[str]:
    """Fork a child for each caller until the input ends. Returns in a child, with the words of its command."""
    calls: dict[int, tuple[socket.socket, int]] = {}  # by the descriptor of the child: its caller, its id
    with selectors.DefaultSelector() as waiting, socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen(64)
        waiting.register(listening, selectors.EVENT_READ)
        waiting.register(0, selectors.EVENT_READ)
        os.write(1, b"ready\n")
        while True:
            for key, _ in waiting.select():
                if key.fileobj == 0:
                    for _, child in calls.values():
                        os.kill(child, signal.SIGKILL)
                    os._exit(0)
                elif key.fileobj is listening:
                    caller, _ = listening.accept()
                    order, streams = _received(caller)
                    if order["words"][:1] in (["serve"], ["report"]):
                        for name in _SERVING:
                            import_module(name)
                    if (child := os.fork()) == 0:
                        for other, _ in calls.values():
                            other.close()
                        for ended in calls:
                            os.close(ended)
                        caller.close()
                        return _become(order, streams)
                    for stream in streams:
                        os.close(stream)
                    ended = os.pidfd_open(child)
                    calls[ended] = caller, child
                    waiting.register(ended, selectors.EVENT_READ)
                    waiting.register(caller, selectors.EVENT_READ)
                elif isinstance(key.fileobj, int):
                    caller, child = calls.pop(key.fileobj)
                    waiting.unregister(key.fileobj)
                    os.close(key.fileobj)
                    _, status = os.waitpid(child, 0)
                    if caller.fileno() >= 0:
                        waiting.unregister(caller)
                        caller.sendall(str(os.waitstatus_to_exitcode(status)).encode())
                        caller.close()
                else:  # the caller was killed, and its command with it
                    ((caller, child),) = (call for call in calls.values() if call[0] is key.fileobj)
                    os.kill(child, signal.SIGKILL)
                    waiting.unregister(caller)
                    caller.close()


def _received(caller: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Words, folder and environment, as JSON on one line; and the caller's standard streams."""
    data, streams, _, _ = socket.recv_fds(caller, 65536, 3)
    while not data.endswith(b"\n"):
        data += caller.recv(65536)
    order: dict[str, Any] = json.loads(data)
    return order, streams


def _become(order: dict[str, Any], streams: list[int]) -> Sequence[str]:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(os.fsencode(order["folder"]))
    os.environ.clear()
    os.environ.update(order["environ"])
    os.umask(order["umask"])
    words: list[str] = order["words"]
    return words


def _carry_out() -> NoReturn:
    """End as Python does, but leave the modules of the server where they are: freeing them takes half a second."""
    code: object = 1
    try:
        main()
        code = 0
    except SystemExit as ended:
        code = ended.code
    except BaseException:  # noqa: BLE001 - told as Python tells it
        sys.excepthook(*sys.exc_info())
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()
    if isinstance(code, str):
        print(code, file=sys.stderr)
    with suppress(OSError):
        sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)


if __name__ == "__main__":
    for name in LOADED:
        import_module(name)
    sys.argv = ["rawko", *_serve(sys.argv[1])]
    _carry_out()

"""A throw-away PostgreSQL server on loopback, for tests: made by initdb, in a folder of its own, gone afterwards.

    python -m tests.postgres COMMAND...    # run a command with its address in RAWKO_TEST_POSTGRES_URL

As root the server runs as another user, because PostgreSQL refuses root; where there is no PostgreSQL, root and apt-get
install it. Where neither is possible the command runs without a server, and the tests that want one are skipped.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from rawko.fleet.errors import FleetError
from rawko.fleet.scratch_server import find_programs, server_owner

URL_VARIABLE = "RAWKO_TEST_POSTGRES_URL"
_INSTALL_S = 300
_START_S = 60
_VERSION = "15"
"""Preferred, so that machines with several test the same."""
_PACKAGES = ("postgresql-15", "postgresql")


class Unavailable(Exception):
    """No server can be had here; the text says why."""


class PostgresServer:
    """A server of one's own.

    Raises:
        Unavailable: The programs are missing, or do not run here.
    """

    def __init__(self) -> None:
        try:
            self._programs, self._owner = find_programs(_VERSION), server_owner()
        except FleetError as error:
            raise Unavailable(str(error)) from error
        self._folder = Path(tempfile.mkdtemp(prefix="rawko-pg-"))
        self._port = _free_port()
        self._password = secrets.token_hex(16)
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._make()
            self.start()
        except BaseException:
            self.close()
            raise

    @property
    def url(self) -> str:
        return f"postgresql+psycopg://rawko:{self._password}@127.0.0.1:{self._port}/postgres"

    def _make(self) -> None:
        self._folder.chmod(0o700)
        secret = self._folder / "password"
        secret.write_text(self._password, encoding="ascii")
        if self._owner is not None:
            for path in (self._folder, secret):
                os.chown(path, self._owner.pw_uid, self._owner.pw_gid)
        words = ["--pgdata", str(self._folder / "data"), "--username", "rawko", "--pwfile", str(secret)]
        words += ["--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C", "--no-sync"]
        made = subprocess.run(
            [str(self._programs / "initdb"), *words],
            capture_output=True,
            text=True,
            check=False,
            cwd=self._folder,
            **self._identity(),  # type: ignore[call-overload]  # user and groups as Popen names them
        )
        if made.returncode != 0:
            raise Unavailable(f"initdb failed: {made.stderr.strip()}")

    def start(self) -> None:
        """Start it, and wait until it answers."""
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": self._port,
            "unix_socket_directories": self._folder,
            "max_connections": 50,
            "fsync": "off",  # what is tested outlives the server, not the machine
            "shared_buffers": "16MB",
        }
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(self._programs / "postgres"), "-D", str(self._folder / "data"), *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._folder,
                start_new_session=True,  # an interrupt of the terminal reaches us, and we end it
                **self._identity(),  # type: ignore[call-overload]
            )
        until = time.monotonic() + _START_S
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > until:
                log_text = (self._folder / "log").read_text(encoding="utf-8", errors="replace")
                raise Unavailable(f"the server does not start: {log_text[-1000:]}")
            time.sleep(0.05)

    def _answers(self) -> bool:
        import psycopg

        try:
            psycopg.connect(self.url.replace("+psycopg", ""), connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True

    def stop(self) -> None:
        """Stop it as a crash of the machine would: at once, all connections cut."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(_START_S)
            self._process = None

    def close(self) -> None:
        """Stop it, and remove its folder."""
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _identity(self) -> Mapping[str, object]:
        if self._owner is None:
            return {}
        return {"user": self._owner.pw_uid, "group": self._owner.pw_gid, "extra_groups": []}

    def __enter__(self) -> PostgresServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def install() -> None:
    """Install PostgreSQL from the system's packages, without the server that the package would start.

    Raises:
        Unavailable: Not root, no apt-get, or it fails.
    """
    apt = shutil.which("apt-get")
    if apt is None or os.geteuid() != 0:
        raise Unavailable("PostgreSQL is not installed, and only root with apt-get could install it")
    config = Path("/etc/postgresql-common/createcluster.conf")
    if not config.exists():
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text("create_main_cluster = false\nstart_conf = 'manual'\n", encoding="ascii")
    environ = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    words = ["install", "-y", "-q", "--no-install-recommends", "-o", "Dpkg::Options::=--force-confold"]
    problem = ""
    for command in (["update", "-q"], *([*words, package] for package in _PACKAGES)):
        try:
            done = subprocess.run(
                [apt, *command], env=environ, capture_output=True, text=True, check=False, timeout=_INSTALL_S
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Unavailable(f"apt-get failed: {error}") from error
        if done.returncode == 0 and command[0] == "install":
            return
        problem = done.stderr.strip() or problem
    raise Unavailable(f"apt-get cannot install PostgreSQL: {problem[-500:]}")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def main(command: Sequence[str]) -> int:
    """Run a command beside a server; its exit code."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    if os.environ.get(URL_VARIABLE):
        return subprocess.run(command, check=False).returncode
    try:
        try:
            find_programs()
        except FleetError:
            install()
        server = PostgresServer()
    except (Unavailable, OSError, ImportError) as error:
        print(f"without PostgreSQL: {error}", file=sys.stderr)
        return subprocess.run(command, check=False).returncode
    with server:
        return subprocess.run(command, env={**os.environ, URL_VARIABLE: server.url}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

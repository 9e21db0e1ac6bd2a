"""Fetch the public suites from the registries that npm and pip are configured for, into `.cache/` of the checkout.

    python -m tests.conformance.fetch

Cached once; a published version never changes, and its checksum is checked.
"""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

CACHE = Path(__file__).parents[2] / ".cache" / "conformance"
SCION = "@scion-scxml/test-framework@2.0.16"
SISMIC = "sismic==1.6.11"
"""The newest sdist that carries the documentation with its examples, and the test suite."""
SISMIC_SHA256 = "882c5f578fa99d4f66ad3174a5f5d889cff211257ef53b3a7a5a0a68b50135a3"
SCION_SHA512 = "5rRd5CdFLUzmPaO43NSamBmhq6uW/0kUmUneEnqRSbAj0FiFVAINd1DfadUkdECT+xHLARCJZU7meQD4nqYyKw=="
W3C = "python-statemachine==3.2.2"
"""Its source distribution holds the W3C's SCXML IRP documents, translated for the data model `python`."""
W3C_SHA256 = "5968c5e07a537f7531b8b1d0a0d5067a3452c88941fa0ac6c244870d48f78325"
W3C_TESTS = Path("tests") / "scxml" / "w3c"


class NotFetched(Exception):
    """The suite is not here and could not be fetched; says why."""


def scion_folder(*, timeout_s: float = 60) -> Path:
    """The folder of SCION's cases, fetched if need be.

    Raises:
        NotFetched: No npm, no registry, or another package than expected.
    """
    return _cached("scion", Path("package") / "test", lambda work: _pack(work, timeout_s))


def w3c_folder(*, timeout_s: float = 120) -> Path:
    """The folder of the W3C's documents (`mandatory`, `optional`), fetched if need be.

    Raises:
        NotFetched: No registry, or another package than expected.
    """
    inside = Path(W3C.replace("==", "-").replace("-", "_", 1)) / W3C_TESTS
    return _cached("w3c", inside, lambda work: sdist(W3C, W3C_SHA256, work, timeout_s=timeout_s))


def _cached(name: str, inside: Path, fetch: Callable[[Path], Path]) -> Path:
    """A folder of an archive, unpacked once."""
    folder = CACHE / name
    if not folder.is_dir():
        CACHE.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=CACHE) as work:
            _unpack(fetch(Path(work)), Path(work) / "unpacked")
            try:
                (Path(work) / "unpacked" / inside).rename(folder)
            except OSError:
                if not folder.is_dir():  # somebody else was faster otherwise
                    raise
    return folder


def sismic_folder(*, timeout_s: float = 120) -> Path:
    """The folder with `docs` and `tests` of stock sismic's sdist, fetched if need be. Its package is left out.

    Raises:
        NotFetched: No registry, or another archive than expected.
    """
    folder = CACHE / "sismic"
    if not folder.is_dir():
        CACHE.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=CACHE) as work:
            _unpack(sdist(SISMIC, SISMIC_SHA256, Path(work), timeout_s=timeout_s), Path(work) / "unpacked")
            (unpacked,) = (Path(work) / "unpacked").iterdir()
            shutil.rmtree(unpacked / "sismic")
            try:
                unpacked.rename(folder)
            except OSError:
                if not folder.is_dir():  # somebody else was faster otherwise
                    raise
    return folder


def sdist(requirement: str, sha256: str, folder: Path, *, timeout_s: float = 120) -> Path:
    """The source archive of a pinned release (`name==version`), downloaded into `folder` by pip.

    Raises:
        NotFetched: No registry, or another archive than expected.
    """
    name = requirement.partition("==")[0]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--no-binary", name, "--dest", str(folder), requirement]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=timeout_s, check=False)
    except subprocess.TimeoutExpired:
        raise NotFetched(f"pip download {requirement} took more than {timeout_s:g} s") from None
    archives = list(folder.glob("*.tar.gz"))
    if done.returncode or not archives:
        raise NotFetched(f"pip download {requirement} failed: {done.stderr.strip()[-200:]}")
    found = hashlib.sha256(archives[0].read_bytes()).hexdigest()
    if found != sha256:
        raise NotFetched(f"{requirement} has the checksum {found}, expected {sha256}")
    return archives[0]


def _pack(folder: Path, timeout_s: float) -> Path:
    npm = shutil.which("npm")
    if npm is None:
        raise NotFetched("npm is not installed")
    command = [npm, "pack", "--silent", "--fetch-retries=1", "--pack-destination", str(folder), SCION]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=timeout_s, check=False)
    except subprocess.TimeoutExpired:
        raise NotFetched(f"npm pack {SCION} took more than {timeout_s:g} s") from None
    archives = list(folder.glob("*.tgz"))
    if done.returncode or not archives:
        raise NotFetched(f"npm pack {SCION} failed: {done.stderr.strip()[-200:]}")
    found = base64.b64encode(hashlib.sha512(archives[0].read_bytes()).digest()).decode("ascii")
    if found != SCION_SHA512:
        raise NotFetched(f"{SCION} has the checksum {found}, expected {SCION_SHA512}")
    return archives[0]


def _unpack(archive: Path, folder: Path) -> None:
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")


if __name__ == "__main__":
    try:
        for suite in (scion_folder, sismic_folder, w3c_folder):
            print(suite())
    except NotFetched as error:
        sys.exit(f"not fetched: {error}")

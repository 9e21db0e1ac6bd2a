"""The environment of commands: a list of variables that commands may see. API keys and tokens are not on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import Final, NamedTuple

from rawko.processes.keys import check_names, is_secret

ALLOWED: tuple[str, ...] = (
    # user and machine
    "HOME", "LOGNAME", "PATH", "SHELL", "TMPDIR", "TZ", "USER", "XDG_*",
    # language
    "LANG", "LANGUAGE", "LC_*",
    # toolchains
    "CARGO_HOME", "CC", "CFLAGS", "CONDA_DEFAULT_ENV", "CONDA_PREFIX", "CPPFLAGS", "CXX", "CXXFLAGS", "DOTNET_ROOT",
    "GEM_HOME", "GOCACHE", "GOMODCACHE", "GOPATH", "GOROOT", "GRADLE_USER_HOME", "JAVA_HOME", "LDFLAGS",
    "LD_LIBRARY_PATH", "MANPATH", "NODE_PATH", "NVM_DIR", "PKG_CONFIG_PATH", "PYENV_ROOT", "PYTHONPATH",
    "RBENV_ROOT", "RUSTUP_HOME", "UV_CACHE_DIR", "VIRTUAL_ENV",
    # network
    "ALL_PROXY", "CURL_CA_BUNDLE", "FTP_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NODE_EXTRA_CA_CERTS", "NO_PROXY",
    "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE", "all_proxy", "ftp_proxy", "http_proxy", "https_proxy",
    "no_proxy",
)  # fmt: skip
"""Names and patterns of variables that commands see."""

NEVER: tuple[str, ...] = ("ANTHROPIC_*", "RAWKO_*", "BASH_ENV", "ENV", "BASH_FUNC_*", "SHELLOPTS", "BASHOPTS")
"""Variables that commands never see, whatever a configuration allows: rawko's own keys, and those that change the
shell.
"""

_WILDCARDS: Final = frozenset("*?[")

FIXED: dict[str, str] = {
    # Otherwise Python would run a stale .pyc whose source has the same size and second, for example after a restore.
    "PYTHONDONTWRITEBYTECODE": "1",
    # No person can answer a prompt or use a pager.
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    "PAGER": "cat",
    "TERM": "dumb",
    "NO_COLOR": "1",
}
"""Set for every command."""


def command_environment(ours: Mapping[str, str], extra: Iterable[str] = ()) -> dict[str, str]:
    """The environment for a command.

    Args:
        ours: The environment of this process.
        extra: Names or patterns of further variables; `NEVER` overrides them. A pattern matches no key or password:
            each of those must be named.
    """
    allowed = _Patterns.of((*ALLOWED, *extra))
    handed = {name: value for name, value in ours.items() if _is_handed_on(name, value, allowed)}
    handed.setdefault("PATH", "/usr/local/bin:/usr/bin:/bin")
    return handed | FIXED


def is_public(name: str) -> bool:
    """Whether every command sees this variable."""
    return _is_handed_on(name, "", _Patterns.of(ALLOWED))


def check_extra(patterns: tuple[str, ...]) -> tuple[str, ...]:
    """Check the names and patterns that a configuration adds; returned unchanged.

    Raises:
        ValueError: One is a variable that commands never see, or a pattern that begins with a wildcard.
    """
    return check_names(patterns, NEVER)


class _Patterns(NamedTuple):
    """Exact names, and patterns with wildcards."""

    names: frozenset[str]
    wide: tuple[str, ...]

    @classmethod
    @cache
    def of(cls, patterns: tuple[str, ...]) -> _Patterns:
        """Split a list into names and patterns (with one of the characters `*?[`); cached for each list."""
        wide = tuple(pattern for pattern in patterns if not _WILDCARDS.isdisjoint(pattern))
        return cls(frozenset(patterns), wide)

    def matches(self, name: str) -> bool:
        return name in self.names or any(fnmatchcase(name, pattern) for pattern in self.wide)


def _is_handed_on(name: str, value: str, allowed: _Patterns) -> bool:
    if _Patterns.of(NEVER).matches(name.upper()):
        return False
    return name in allowed.names or (allowed.matches(name) and not is_secret(name, value))

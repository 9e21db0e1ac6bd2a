"""What commands see of our environment: a list of names that they may see; keys and tokens are not on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from rawko.processes.keys import check_names, is_secret

ALLOWED: tuple[str, ...] = (
    # who and where
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
"""Names and patterns of variables that are handed on."""

NEVER: tuple[str, ...] = ("ANTHROPIC_*", "RAWKO_*", "BASH_ENV", "ENV", "BASH_FUNC_*", "SHELLOPTS", "BASHOPTS")
"""Not handed on whatever a configuration says: our own keys, and what would change the shell itself."""

FIXED: dict[str, str] = {
    # A .pyc of the same size and second as its new source would be run instead of it, also after a restore.
    "PYTHONDONTWRITEBYTECODE": "1",
    # Nobody is there to answer or to page.
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
        extra: Further names or patterns to hand on; `NEVER` wins over them. A pattern hands on no key or password:
            those are named one by one.
    """
    patterns = (*ALLOWED, *extra)
    handed = {name: value for name, value in ours.items() if _is_handed_on(name, value, patterns)}
    handed.setdefault("PATH", "/usr/local/bin:/usr/bin:/bin")
    return handed | FIXED


def is_public(name: str) -> bool:
    """Whether every command sees this variable."""
    return _is_handed_on(name, "", ALLOWED)


def check_extra(patterns: tuple[str, ...]) -> tuple[str, ...]:
    """What a configuration adds to the list.

    Raises:
        ValueError: It names what is never handed on, or a pattern that is no choice.
    """
    return check_names(patterns, NEVER)


def _is_handed_on(name: str, value: str, patterns: Iterable[str]) -> bool:
    if any(fnmatchcase(name.upper(), pattern) for pattern in NEVER):
        return False
    wide = not is_secret(name, value)
    return any(name == pattern or (wide and fnmatchcase(name, pattern)) for pattern in patterns)

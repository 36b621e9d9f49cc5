"""uv as a subprocess: what it would change in an environment, and why it cannot.

uv prefers installed versions and knows their metadata from the environment, so neither private nor development
installs are looked up anywhere (https://docs.astral.sh/uv/pip/compatibility/). It does not read pip's configuration;
whose packages come from a mirror that only pip knows gets it handed over.
"""

from __future__ import annotations

import configparser
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from doctor.base.asking import asked
from doctor.base.redact import redact_text
from doctor.base.scratch import Folder
from doctor.catalogue.plan import Refused
from doctor.facts.packages import normalised

TIMEOUT_S = 300.0
_CHANGE = re.compile(r"^ (?P<sign>[+~-]) (?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s(]+)", re.MULTILINE)
_EXTRA = re.compile(r"^warning: (The package .* does not have an extra .*)$", re.MULTILINE)

#: pip's setting -> uv's variable (https://docs.astral.sh/uv/reference/environment/)
_TAKEN_OVER = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "cert": "SSL_CERT_FILE",
}
_OWN = ("UV_DEFAULT_INDEX", "UV_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS", "UV_CONFIG_FILE")


@dataclass(frozen=True)
class Solution:
    """What would change: normalised name -> version. A package in both is replaced; `remarks` are uv's warnings."""

    added: Mapping[str, str] = field(default_factory=dict)
    removed: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    @property
    def replaced(self) -> tuple[str, ...]:
        """Names whose version changes."""
        return tuple(name for name in self.added if name in self.removed)


class Unsolvable(Exception):  # noqa: N818 - no error: an answer
    """No set of versions fits; the message is uv's proof."""


class TooSlow(Refused):
    """The resolver did not come to an end in time."""


def program() -> str:
    """Path of uv.

    Raises:
        Refused: there is none.

    """
    beside = Path(sys.executable).parent / "uv"
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which("uv")
    if found is None:
        msg = f"`doctor fix env` solves with uv, and there is none: {shlex.quote(sys.executable)} -m pip install uv"
        raise Refused(msg)
    return found


def taken_over(environ: Mapping[str, str]) -> dict[str, str]:
    """Variables that hand pip's index settings to uv; none where uv has settings of its own in the environment."""
    if any(environ.get(name) for name in _OWN):
        return {}
    settings = {**_pip_files(environ), **_pip_variables(environ)}
    found = {}
    for name, variable in _TAKEN_OVER.items():
        words = settings.get(name, "").split()
        if not words or environ.get(variable):
            continue
        found[variable] = (" " if variable == "UV_INDEX" else ",").join(words)
    if "UV_INDEX" in found and not environ.get("UV_INDEX_STRATEGY"):
        found["UV_INDEX_STRATEGY"] = "unsafe-best-match"  # as pip does: the best version of all indexes
    return found


def _pip_variables(environ: Mapping[str, str]) -> dict[str, str]:
    names = {name: f"PIP_{name.upper().replace('-', '_')}" for name in _TAKEN_OVER}
    return {name: environ[variable] for name, variable in names.items() if environ.get(variable)}


def _pip_files(environ: Mapping[str, str]) -> dict[str, str]:
    """The files of pip, the last one winning (https://pip.pypa.io/en/stable/topics/configuration/)."""
    if environ.get("PIP_CONFIG_FILE") == os.devnull:
        return {}
    home = Path(environ.get("HOME", "/"))
    config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    files = [Path("/etc/pip.conf"), home / ".pip" / "pip.conf", config / "pip" / "pip.conf"]
    if environ.get("PIP_CONFIG_FILE"):
        files.append(Path(environ["PIP_CONFIG_FILE"]))
    found: dict[str, str] = {}
    for path in files:
        parser = configparser.RawConfigParser(strict=False)
        try:
            parser.read(path, encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError):
            continue
        for section in ("global", "install"):
            if parser.has_section(section):
                found |= {name: value for name, value in parser.items(section) if name in _TAKEN_OVER and value}
    return found


def solve(
    python: str,
    requirements: Iterable[str],
    constraints: Iterable[str],
    *,
    offline: bool = False,
    timeout_s: float = TIMEOUT_S,
) -> Solution:
    """What uv would change in an environment so that all requirements hold.

    Raises:
        Unsolvable: nothing fits.
        Refused: uv could not answer: no network, a package that cannot be built.
        TooSlow: it did not come to an end in time.

    """
    with Folder("uv") as folder:
        wanted, limits = Path(folder, "requirements.txt"), Path(folder, "constraints.txt")
        wanted.write_text("".join(f"{each}\n" for each in requirements), encoding="utf-8")
        limits.write_text("".join(f"{each}\n" for each in constraints), encoding="utf-8")
        argv = ["pip", "install", "--dry-run", "--break-system-packages", "-r", str(wanted), "-c", str(limits)]
        code, out, err = call(python, argv, offline=offline, timeout_s=timeout_s)
        out += err
    if code == 0:
        changes = [(match["sign"], normalised(match["name"]), match["version"]) for match in _CHANGE.finditer(out)]
        return Solution(
            {name: version for sign, name, version in changes if sign == "+"},
            {name: version for sign, name, version in changes if sign == "-"},
            tuple(dict.fromkeys(_EXTRA.findall(out))),
        )
    if "No solution found" in out:
        raise Unsolvable(_said(out))
    raise Refused(_said(out))


def call(
    python: str, argv: Iterable[str], *, offline: bool = False, timeout_s: float = TIMEOUT_S
) -> tuple[int, str, str]:
    """Exit status, output and complaints of one run of uv for an interpreter.

    Raises:
        TooSlow: it did not end in time.

    """
    head, command, *rest = argv
    flags = ["--no-progress", "--color", "never", "--no-python-downloads", *(["--offline"] if offline else [])]
    environ = {**os.environ, **taken_over(os.environ)}
    full = [program(), head, command, *flags, "--python", python, *rest]
    done = asked(full, environ=environ, seconds=timeout_s)
    if done.code is None:
        msg = f"uv did not answer within {timeout_s:.0f} s"
        raise TooSlow(msg)
    return done.code, done.out.decode("utf-8", "replace"), done.err.decode("utf-8", "replace")


def _said(out: str) -> str:
    """What uv said, without what it says of every run."""
    lines = [line for line in out.splitlines() if line.strip() and not line.startswith(("Using Python", "warning:"))]
    return redact_text("\n".join(lines)).removeprefix("error: ")

"""Ray's node daemons on this machine, read from /proc."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

from doctor.base.patterns import later
from doctor.base.record import record

_MAX_BYTES = 64 << 10
_VERSION = later(r"^version\s*=\s*[\"']([^\"']+)", re.MULTILINE)


@record
class Raylet:
    """A running raylet. `package` is the folder of the `ray` package it comes from, None when that was replaced.

    `node_address`: by which it registers with the cluster.
    """

    pid: int
    gcs_address: str | None
    session_dir: str | None
    package: str | None
    node_address: str | None = None

    @property
    def version(self) -> str | None:
        """Version of the running Ray, from the package that its program lies in."""
        match = _VERSION.search(_head(Path(self.package) / "_version.py")) if self.package else None
        return match.group(1) if match else None

    @property
    def python_version(self) -> str | None:
        """Major and minor of the cluster's Python, "3.11", from the folder that its packages lie in."""
        match = re.search(r"/python(3\.\d+)/", self.package or "")
        return match.group(1) if match else None


def raylets(proc: Path = Path("/proc")) -> tuple[Raylet, ...]:
    """List the raylets of all users whose command line may be read."""
    found = []
    for entry in os.scandir(proc):
        if not entry.name.isdigit() or _head(Path(entry.path) / "comm").strip() != "raylet":
            continue
        words = _head(Path(entry.path) / "cmdline").split("\0")
        options = dict(word[2:].split("=", 1) for word in words if word.startswith("--") and "=" in word)
        found.append(
            Raylet(
                int(entry.name),
                options.get("gcs-address"),
                options.get("session_dir"),
                _package(Path(entry.path), words[0]),
                options.get("node_ip_address"),
            )
        )
    return tuple(found)


def _package(process: Path, program: str) -> str | None:
    """Folder of the `ray` package: the program is ray/core/src/ray/raylet/raylet in it."""
    with contextlib.suppress(OSError):  # another user's process: its command line must do
        program = str((process / "exe").readlink())
    head, found, _ = program.rpartition("/core/src/ray/raylet/raylet")
    # " (deleted)": the package was upgraded under the running cluster, and its files tell the wrong version
    return head if found and not program.endswith(" (deleted)") else None


def _head(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_MAX_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""

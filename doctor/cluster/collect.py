"""One node of many writes its facts into a folder that all of them see; nothing is judged there."""

from __future__ import annotations

import hashlib
import os
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from doctor.core.run_dir import host_name
from doctor.facts import _mounts
from doctor.facts.base import FactState
from doctor.facts.saved import as_json, write

_TRIES = 3
_STEP_S = 0.01  # a server's kernel may stamp files by its timer's tick


def collect(states: Mapping[str, FactState], folder: Path) -> Path:
    """Write this node's facts file; its path.

    Raises:
        OSError: the folder cannot be made or written.

    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / file_name(states)
    clock = clock_of(folder)
    data = as_json(states)
    write({**data, "clock": clock} if clock else data, path)
    return path


def file_name(states: Mapping[str, FactState]) -> str:
    """The host's name and a mark of the machine and its rank: the same node overwrites its own file and no other's."""
    state = states.get("node")
    node = state.value if state is not None and state.status == "ok" else None
    mark = f"{socket.gethostname()} {node.boot_id} {node.rank}" if node else socket.gethostname()
    return f"{host_name()}-{hashlib.sha256(mark.encode()).hexdigest()[:6]}.json"


def clock_of(folder: Path, mounts: tuple[_mounts.MountPoint, ...] | None = None) -> dict[str, float] | None:
    """Clock of this machine minus the file server's, and the most that this is wrong by; None without such a server.

    Only NFS is asked: its server stamps what is set to "now" (SET_TO_SERVER_TIME, RFC 8881 section 18.30), of a folder
    always, of a file unless it is delegated (RFC 9754 section 5). Lustre, CephFS and GPFS take the client's own clock,
    which would always agree with itself.

    Raises:
        OSError: the folder cannot be written.

    """
    probe = folder / f".{host_name()}.{os.urandom(4).hex()}.clock"
    try:
        probe.mkdir()
        mount = _mounts.above(str(folder.resolve()), _mounts.read() if mounts is None else mounts)
        if mount is None or mount.kind not in {"nfs", "nfs4"}:
            return None
        return min((_compared(probe) for _ in range(_TRIES)), key=lambda each: each["error_s"])
    finally:
        with suppress(FileNotFoundError):
            probe.rmdir()


def _compared(probe: Path) -> dict[str, Any]:
    """One look at the server's clock: half of the way there and back is what it can be wrong by."""
    before = time.time()
    os.utime(probe)
    stamped = probe.stat().st_mtime
    after = time.time()
    return {"offset_s": (before + after) / 2 - stamped, "error_s": (after - before) / 2 + _STEP_S}

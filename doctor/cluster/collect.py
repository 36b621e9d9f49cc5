"""One node of many writes its facts into a folder that all of them see; nothing is judged there."""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Mapping
from pathlib import Path

from doctor.base.evidence import Observed
from doctor.cluster.clocks import against_folder
from doctor.readers.saved import as_json, write
from doctor.run.folder import host_name


def collect(states: Mapping[str, Observed], folder: Path) -> Path:
    """Write this node's facts file; its path.

    Raises:
        OSError: the folder cannot be made or written.

    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / file_name(states)
    clock = against_folder(folder)
    data = as_json(states)
    write({**data, "clock": clock._asdict()} if clock else data, path)
    return path


def file_name(states: Mapping[str, Observed]) -> str:
    """The host's name and a mark of the machine and its rank: the same node overwrites its own file and no other's."""
    state = states.get("node")
    node = state.value if state is not None and state.status == "ok" else None
    mark = f"{socket.gethostname()} {node.boot_id} {node.rank}" if node else socket.gethostname()
    return f"{host_name()}-{hashlib.sha256(mark.encode()).hexdigest()[:6]}.json"

"""Events of the server in the run folder, and the cause that the doctor leaves there when the engine has failed."""

from __future__ import annotations

import asyncio
import json
import os
import time
from typing import Any, Optional

from doctor.run.folder import Events, RunDir
from doctor.run.patience import touch

#: file of the run folder that the doctor writes the diagnosis to: {id, name, headline, remedy}
CAUSE = "cause.json"
#: process of the doctor that looks for the cause, as long as it does
PENDING = "cause.pending"
#: what a client waits for the diagnosis at most: until somebody looks for it, and while somebody does, which takes a
#: second, and many where the machine has twenty times more to do than it has cores
PATIENCE_S, LONGEST_S = 15.0, 60.0
_LOOK_S = 0.1


def write(kind: str, **data: Any) -> None:
    """Append an event; outside of a run folder, and on a full disk, nothing happens."""
    run = RunDir.of_environment()
    if run is not None:
        events = Events(run, role="server")
        events.write(kind, **data)
        events.close()


def _read(run: RunDir, name: str) -> str:
    """Text of a file of the run folder; none where the disk does not answer.

    Raises:
        OSError: it cannot be read.

    """
    return touch(lambda: (run.path / name).read_text(encoding="utf-8"), "")


def patience() -> float:
    """What a client waits now, from the engine's death on."""
    run = RunDir.of_environment()
    try:
        doctor = int(_read(run, PENDING)) if run is not None else 0
        os.kill(doctor, 0)
    except (OSError, ValueError):
        doctor = 0
    return LONGEST_S if doctor else PATIENCE_S


def heard() -> bool:
    """Whether the doctor has taken notice of the engine's death; where there is none, nobody is to be waited for."""
    run = RunDir.of_environment()
    # not `Path.exists`: it raises where the disk of the run folder has gone
    return run is None or touch(lambda: any(os.path.exists(run.path / each) for each in (PENDING, CAUSE)), late=False)  # noqa: PTH110


async def cause() -> Optional[dict[str, Any]]:
    """The doctor's diagnosis of the dead engine; None where it does not come in time."""
    run = RunDir.of_environment()
    begun = time.monotonic()
    while run is not None and time.monotonic() - begun < patience():
        try:
            found = json.loads(_read(run, CAUSE))
        except (OSError, ValueError):
            await asyncio.sleep(_LOOK_S)
            continue
        return found if isinstance(found, dict) and found.get("id") else None
    return None

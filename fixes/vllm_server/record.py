"""Events of the server in the run folder, and the cause that the doctor leaves there when the engine has failed."""

from __future__ import annotations

import asyncio
import json
import os
import time
from typing import Any, Optional

from doctor.run.folder import Events, RunDir

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


def patience() -> float:
    """What a client waits now, from the engine's death on."""
    run = RunDir.of_environment()
    try:
        doctor = int((run.path / PENDING).read_text(encoding="utf-8")) if run is not None else 0
        os.kill(doctor, 0)
    except (OSError, ValueError):
        doctor = 0
    return LONGEST_S if doctor else PATIENCE_S


def heard() -> bool:
    """Whether the doctor has taken notice of the engine's death; where there is none, nobody is to be waited for."""
    run = RunDir.of_environment()
    # not `Path.exists`: it raises where the disk of the run folder has gone
    return run is None or any(os.path.exists(run.path / each) for each in (PENDING, CAUSE))  # noqa: PTH110


async def cause() -> Optional[dict[str, Any]]:
    """The doctor's diagnosis of the dead engine; None where it does not come in time."""
    run = RunDir.of_environment()
    begun = time.monotonic()
    while run is not None and time.monotonic() - begun < patience():
        try:
            found = json.loads((run.path / CAUSE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            await asyncio.sleep(_LOOK_S)
            continue
        return found if isinstance(found, dict) and found.get("id") else None
    return None

"""Events of the server in the run folder, and the cause that the doctor leaves there when the engine has failed."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any, Optional

from doctor.core.run_dir import Events, RunDir

#: file of the run folder that the doctor writes the diagnosis to: {id, name, headline, remedy}
CAUSE = "cause.json"
#: what a client waits for the diagnosis at most
PATIENCE_S = 15.0
_LOOK_S = 0.1


def write(kind: str, **data: Any) -> None:
    """Append an event; outside of a run folder, and on a full disk, nothing happens."""
    run = RunDir.of_environment()
    if run is not None:
        events = Events(run, role="server")
        events.write(kind, **data)
        events.close()


async def cause() -> Optional[dict[str, Any]]:
    """The doctor's diagnosis of the dead engine; None where it does not come in time."""
    run = RunDir.of_environment()
    end = time.monotonic() + PATIENCE_S
    while run is not None and time.monotonic() < end:
        try:
            found = json.loads((run.path / CAUSE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            await asyncio.sleep(_LOOK_S)
            continue
        return found if isinstance(found, dict) and found.get("id") else None
    return None

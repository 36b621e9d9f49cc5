"""Waits for Xids, the driver's own reports of what went wrong, in a thread that holds nothing while it waits.

https://docs.nvidia.com/deploy/xid-errors/
https://docs.nvidia.com/deploy/nvml-api/group__nvmlEvents.html
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from doctor.readers.machine.nvml import TIMEOUT, GpuLost, Nvml

_XID = 0x8  # nvmlEventTypeXidCriticalError
_WAIT_MS = 5000
_PAUSE_S = 5.0


def watch(nvml: Nvml, handles: dict[int, Any], told: Callable[[int | None, int], None]) -> list[int]:
    """Call `told(index, xid)` for each Xid from now on, from another thread; gives the indices that are watched."""
    events = nvml.query("nvmlEventSetCreate")
    watched = []
    for index, handle in handles.items() if events is not None else ():
        try:
            if nvml.ask("nvmlDeviceRegisterEvents", handle, _XID, events)[1] is None:
                watched.append(index)
        except GpuLost:
            continue
    if watched:
        threading.Thread(target=_wait, args=(nvml, events, told), daemon=True, name="xid").start()
    return watched


def _wait(nvml: Nvml, events: Any, told: Callable[[int | None, int], None]) -> None:
    while True:
        try:
            data, code = nvml.ask("nvmlEventSetWait_v2", events, _WAIT_MS)
        except GpuLost:
            time.sleep(_PAUSE_S)  # it answers so from now on, at once
            continue
        if data is not None:
            told(_index(nvml, data.device), int(data.eventData))
        elif code != TIMEOUT:
            time.sleep(_PAUSE_S)


def _index(nvml: Nvml, device: Any) -> int | None:
    try:
        index = nvml.query("nvmlDeviceGetIndex", device)
    except GpuLost:
        return None
    return None if index is None else int(index)

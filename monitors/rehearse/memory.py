"""How much memory a training took at its longest lengths: of each card that this process uses, and of the host."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Optional

from doctor.monitors.rehearse import journal

#: what the kernel gives a process at most, by its control group: https://docs.kernel.org/admin-guide/cgroup-v2.html
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


@journal.shielded
def tell() -> None:
    """Write the peaks of this process."""
    parts = {"host memory": {"peak_bytes": _host_peak(), "total_bytes": _host_total()}}
    torch: Any = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        for number in range(torch.cuda.device_count()):
            peak = torch.cuda.max_memory_reserved(number)
            if peak:
                total = torch.cuda.get_device_properties(number).total_memory
                parts[f"GPU {number}"] = {"peak_bytes": peak, "total_bytes": total}
    journal.write("memory", parts=parts)


def _host_peak() -> int:
    """Largest resident size of this process in bytes (https://man7.org/linux/man-pages/man2/getrusage.2.html)."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _host_total() -> Optional[int]:
    """Bytes that the control group or the machine has; None where neither says."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for path in _LIMITS:
        try:
            text = Path(path).read_text(encoding="ascii").strip()
        except OSError:
            continue
        if text.isdecimal():
            return min(int(text), machine)
    return machine

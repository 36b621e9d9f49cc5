"""How much memory a program took at its highest.

`getrusage(RUSAGE_SELF)` does not tell: what is started by vfork and exec begins with the peak of the process that
started it (Linux, `setmax_mm_hiwater_rss` in `exec_mmap`, https://github.com/torvalds/linux/blob/v6.12/fs/exec.c), and
that is a test worker of several hundred MB. `VmHWM` belongs to the address space, which exec makes anew.
"""

from __future__ import annotations

import resource
from pathlib import Path


def own_kib() -> int:
    """The peak of this process since its exec."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])


def with_children_kib() -> int:
    """The peak of this process, or of the largest of its children that were waited for."""
    return max(own_kib(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)

"""Collects the fact `host`."""

from __future__ import annotations

import math
import os
from pathlib import Path

from doctor.base.fact import Context, fact
from doctor.facts.environment import Environment
from doctor.facts.host import Host
from doctor.facts.training import Training


@fact()
def collect(context: Context, environment: Environment, training: Training | None) -> Host:
    """The machine as a process started here would find it; disks for where this run writes."""
    import resource

    from doctor.readers.machine import cgroup, disks, machine, shared_memory

    system = os.uname()
    memory = machine.memory()
    total = memory.get("MemTotal")
    limit = cgroup.memory_limit_bytes()
    open_soft, open_hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    shm = shared_memory.size()
    return Host(
        hostname=system.nodename,
        kernel=system.release,
        os=machine.distribution(),
        cpus=_cpus(cgroup.cpu_quota()),
        memory_total_bytes=total,
        memory_available_bytes=memory.get("MemAvailable"),
        memory_limit_bytes=limit if limit is not None and (total is None or limit < total) else None,
        swap_total_bytes=memory.get("SwapTotal"),
        shm_total_bytes=shm[0],
        shm_free_bytes=shm[1],
        shm_unowned_bytes=shared_memory.unowned_bytes(*shm),
        open_files_soft=open_soft,
        open_files_hard=open_hard,
        memlock_soft_bytes=resource.getrlimit(resource.RLIMIT_MEMLOCK)[0],
        max_processes_soft=resource.getrlimit(resource.RLIMIT_NPROC)[0],
        wsl=machine.wsl(system.release),
        container=machine.container(context.environ),
        disks=disks.look(written_paths(context, environment, training), _mountinfo()),
        user_is_root=os.geteuid() == 0,
    )


def _cpus(quota: float | None) -> int:
    """CPUs that may be used: the affinity mask, and no more than the quota rounded up."""
    allowed = len(os.sched_getaffinity(0))
    return allowed if quota is None else max(1, min(allowed, math.ceil(quota)))


def written_paths(context: Context, environment: Environment, training: Training | None) -> dict[str, str]:
    """Purpose -> absolute path of everything that a run writes to."""
    from doctor.readers.machine.hub import cache_folder

    variables = environment.variables
    temporary = variables.get("TMPDIR") or "/tmp"  # noqa: S108 - what tempfile would take
    paths = {
        "cwd": ".",
        "output_dir": training.value("output_dir") if training else None,
        "hf cache": cache_folder(variables),
        "tmp": temporary,
    }
    home = variables.get("HOME") or context.environ.get("HOME") or "~"
    absolute = {}
    for purpose, path in paths.items():
        if not isinstance(path, str) or not path:
            continue
        expanded = home + path[1:] if path == "~" or path.startswith("~/") else path
        absolute[purpose] = os.path.normpath(os.path.join(context.cwd, expanded))  # noqa: PTH118 - no touching
    return absolute


def _mountinfo() -> str:
    try:
        return Path("/proc/self/mountinfo").read_text("utf-8", "replace")
    except OSError:
        return ""

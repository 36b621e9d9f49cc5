"""Which permission is missing where a process may not be looked at, and how to get it.

To read another process's stacks, its open files and where in the kernel it waits takes the same user and, under Yama, a
ptrace_scope of 0, or the capability SYS_PTRACE, which containers drop:
https://docs.kernel.org/admin-guide/LSM/Yama.html, https://github.com/benfred/py-spy#running-py-spy-in-docker
"""

from __future__ import annotations

import os
from pathlib import Path

from doctor.mend.processes.table import PROC

_SCOPE = "sys/kernel/yama/ptrace_scope"
#: of include/uapi/linux/capability.h
_SYS_PTRACE = 19
_WORDS = ("permission", "not permitted", "eperm", "sys_ptrace")


def is_refusal(text: str) -> bool:
    """Whether words of py-spy say that the kernel did not let it look."""
    return any(each in text.lower() for each in _WORDS)


def refused(uid: int, proc: Path = PROC) -> str:
    """Why this user may not look at a process of a user, and what would let him."""
    mine, scope = os.geteuid(), _scope(proc)
    if scope == 3:
        return "kernel.yama.ptrace_scope is 3: no user can trace a process, not even root, until the next boot"
    if mine == 0 or _may_trace(proc):
        return (
            "root may not trace processes here (no capability SYS_PTRACE, or seccomp forbids it): start the container "
            "with `--cap-add SYS_PTRACE`, in Kubernetes `securityContext: {capabilities: {add: [SYS_PTRACE]}}`"
        )
    if uid not in (mine, -1):
        return f"the process belongs to another user (uid {uid}): run `doctor hang` as that user, or with sudo"
    if scope:
        return (
            f"kernel.yama.ptrace_scope is {scope}, so that only root may trace: run `sudo doctor hang`, or "
            "`sudo sysctl kernel.yama.ptrace_scope=0`"
        )
    return (
        "the kernel does not let this user trace it: run `sudo doctor hang`, or start the container with "
        "`--cap-add SYS_PTRACE`"
    )


def _scope(proc: Path) -> int:
    try:
        return int((proc / _SCOPE).read_text("ascii"))
    except (OSError, ValueError):
        return 0


def _may_trace(proc: Path) -> bool:
    """Whether this process has the capability, and was refused all the same."""
    try:
        lines = (proc / "self" / "status").read_text("utf-8", "replace").splitlines()
        return bool(int(next(each for each in lines if each.startswith("CapEff:")).split()[1], 16) >> _SYS_PTRACE & 1)
    except (OSError, ValueError, StopIteration, IndexError):
        return False

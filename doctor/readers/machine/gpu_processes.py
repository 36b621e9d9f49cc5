"""Who a process id of NVML's list is, as far as /proc shows it."""

from __future__ import annotations

import os
from pathlib import Path

from doctor.base.redact import redact_text
from doctor.facts.gpus import GpuProcess

#: inode of the machine's first PID name space (PROC_PID_INIT_INO, include/linux/proc_ns.h)
_FIRST_NAMESPACE = "pid:[4026531836]"
_COMMAND_CHARACTERS = 200
_MAX_FILES = 1024


def describe(pid: int, used_bytes: int | None, proc: Path = Path("/proc")) -> GpuProcess:
    """A GPU process with name, command and owner, each None when it cannot be told.

    In a container NVML may give the host's process ids; one of them can by chance be the id of a process in
    here. So in a container a process counts as the one only when it holds an NVIDIA device open.
    """
    own = proc / str(pid)
    try:
        status = _status(own / "status")
        uid = int(status["Uid"].split()[0])
        if not _ids_are_ours(proc) and not _holds_gpu(own):
            return GpuProcess(pid, used_bytes)
        command = (own / "cmdline").read_bytes()[:4096].replace(b"\0", b" ").decode("utf-8", "replace").strip()
    except (OSError, KeyError, ValueError):
        return GpuProcess(pid, used_bytes)
    return GpuProcess(
        pid=pid,
        used_bytes=used_bytes,
        name=status.get("Name"),
        command=redact_text(command)[:_COMMAND_CHARACTERS] or None,
        user=_user(uid),
        parent_pid=int(status.get("PPid", "0")),
        is_mine=uid == os.getuid(),
    )


def _status(path: Path) -> dict[str, str]:
    lines = path.read_text("utf-8", "replace").splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def _ids_are_ours(proc: Path) -> bool:
    """Whether this process lives in the machine's first PID name space, whose ids NVML gives."""
    try:
        return str((proc / "self" / "ns" / "pid").readlink()) == _FIRST_NAMESPACE
    except OSError:
        return False


def _holds_gpu(own: Path) -> bool:
    with os.scandir(own / "fd") as entries:
        for count, entry in enumerate(entries):
            if count >= _MAX_FILES:
                return False
            try:
                if str(Path(entry.path).readlink()).startswith("/dev/nvidia"):
                    return True
            except OSError:
                continue
    return False


def _user(uid: int) -> str | None:
    """Name of a user; asked of the password data base, never of the network's."""
    try:
        with open("/etc/passwd", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            for line in file:
                parts = line.split(":")
                if len(parts) > 2 and parts[2] == str(uid):
                    return parts[0]
    except OSError:
        pass
    return str(uid)

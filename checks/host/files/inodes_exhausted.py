"""Judges inodes-exhausted (HST007), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.problem import ERROR, WARNING
from doctor.catalogue.shared.sizes import size
from doctor.catalogue.words import words_of
from doctor.facts.host import Host

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


FEW = 1000
FIXED = frozenset({"ext2", "ext3", "ext4", "xfs", "tmpfs", "overlay"})  # others make inodes as they need them


@check(PROBLEM)
def inodes_exhausted(host: Host) -> Judgement:
    """One finding a file system, not one a purpose."""
    seen: set[tuple[int | None, int | None]] = set()
    for disk in host.disks:
        state = (disk.free_inodes, disk.free_bytes)
        if disk.free_inodes is None or disk.free_inodes >= FEW or disk.filesystem not in FIXED or state in seen:
            continue
        seen.add(state)
        yield found(
            PROBLEM,
            MESSAGE,
            path=disk.path,
            inodes=disk.free_inodes,
            free=size(disk.free_bytes or 0),
            severity=ERROR if disk.free_inodes == 0 else WARNING,
            commands=(f"df -i {disk.path}",),
            evidence=(Observed.quoted("statvfs", f"{disk.path}: {disk.free_inodes} inodes free, {disk.filesystem}"),),
        )

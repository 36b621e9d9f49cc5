"""What is mounted where, from /proc/self/mountinfo: no file system is touched, for a dead one would hang."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from doctor.base.patterns import later
from doctor.base.record import record

# Linux' own file systems over a network, and those that come as kernel modules of their makers
_NETWORK = frozenset({
    "nfs", "nfs4", "lustre", "ceph", "cifs", "smb3", "gpfs", "beegfs", "glusterfs", "9p", "virtiofs", "wekafs", "pvfs2",
    "panfs", "afs", "ocfs2", "gfs2", "vastnfs",
})  # fmt: skip
#: FUSE file systems that are of this machine
_LOCAL_FUSE = later(r"fuse\.(lxcfs|fuse-overlayfs|snapfuse|squashfuse.*|gvfsd-fuse|portal|gocryptfs|encfs|mergerfs)")
_OCTAL = later(r"\\([0-7]{3})")


@record
class MountPoint:
    """A mounted file system: `kind` "ext4", "nfs4"; `source` a device, or "server:/export"."""

    point: str
    kind: str
    source: str

    @property
    def over_network(self) -> bool:
        """Whether its files lie on other machines."""
        return self.kind in _NETWORK or (self.kind.startswith("fuse.") and not _LOCAL_FUSE.fullmatch(self.kind))


def read(path: Path = Path("/proc/self/mountinfo")) -> tuple[MountPoint, ...]:
    """All mounts in mount order, see proc_pid_mountinfo(5); () where they cannot be read."""
    try:
        text = path.read_text("utf-8", "replace")
    except OSError:
        return ()
    found = []
    for line in text.splitlines():
        left, _, right = line.partition(" - ")
        fields, rest = left.split(" "), right.split(" ")
        if len(fields) > 4 and len(rest) > 1:
            found.append(MountPoint(_plain(fields[4]), rest[0], _plain(rest[1])))
    return tuple(found)


def _plain(text: str) -> str:
    """Decode blanks and their like, which the kernel writes as octal numbers."""
    return _OCTAL.sub(lambda match: chr(int(match.group(1), 8)), text)


def above(path: str, mounts: tuple[MountPoint, ...]) -> MountPoint | None:
    """The mount that holds a path: the longest mount point above it, of equal ones the last, which lies on top."""
    best: MountPoint | None = None
    for each in mounts:
        prefix = each.point.rstrip("/") + "/"
        if (path + "/").startswith(prefix) and (best is None or len(each.point) >= len(best.point)):
            best = each
    return best


def over_network(mounts: tuple[MountPoint, ...]) -> Mapping[str, str]:
    """Mount point -> "nfs4 server:/export" of the file systems of other machines."""
    return {each.point: f"{each.kind} {each.source}" for each in mounts if each.over_network}

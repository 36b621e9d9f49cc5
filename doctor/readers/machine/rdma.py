"""Ports of RDMA devices as the kernel shows them.

https://www.kernel.org/doc/Documentation/ABI/stable/sysfs-class-infiniband
"""

from __future__ import annotations

import re
from pathlib import Path

from doctor.facts.node import Port

_ROOT = Path("/sys/class/infiniband")


def ports(root: Path = _ROOT, gids: frozenset[int] = frozenset()) -> tuple[Port, ...]:
    """Each port of each device, in order of names; () where there is none.

    Args:
        root: folder of the devices.
        gids: indices of the addresses that are read.

    """
    return tuple(_port(folder, gids) for folder in sorted(root.glob("*/ports/*")))


def _port(folder: Path, gids: frozenset[int]) -> Port:
    rate = re.match(r"([\d.]+) Gb/sec", _line(folder / "rate"))
    return Port(
        device=folder.parent.parent.name,
        number=int(folder.name) if folder.name.isdigit() else 0,
        state=_word(folder / "state"),
        physical_state=_word(folder / "phys_state"),
        rate_gbps=float(rate.group(1)) if rate else None,
        link_layer=_line(folder / "link_layer") or None,
        gids={index: kind for index in sorted(gids) if (kind := _gid(folder, index)) is not None},
    )


def _gid(folder: Path, index: int) -> str | None:
    """Kind of an address that is set; an unset one reads as zeros, and its kind as an error."""
    if not _line(folder / "gids" / str(index)).strip("0:"):
        return None
    return _line(folder / "gid_attrs" / "types" / str(index))


def _word(path: Path) -> str | None:
    """The name in "4: ACTIVE"."""
    return _line(path).partition(": ")[2] or None


def _line(path: Path) -> str:
    try:
        return path.read_text("ascii", "replace").strip()
    except OSError:
        return ""

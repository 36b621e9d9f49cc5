"""Ports of RDMA devices as the kernel shows them.

https://www.kernel.org/doc/Documentation/ABI/stable/sysfs-class-infiniband
"""

from __future__ import annotations

import re
from pathlib import Path

from doctor.facts.node import Port

_ROOT = Path("/sys/class/infiniband")


def ports(root: Path = _ROOT) -> tuple[Port, ...]:
    """Each port of each device, in order of names; () where there is none."""
    return tuple(_port(folder) for folder in sorted(root.glob("*/ports/*")))


def _port(folder: Path) -> Port:
    rate = re.match(r"([\d.]+) Gb/sec", _line(folder / "rate"))
    return Port(
        device=folder.parent.parent.name,
        number=int(folder.name) if folder.name.isdigit() else 0,
        state=_word(folder / "state"),
        physical_state=_word(folder / "phys_state"),
        rate_gbps=float(rate.group(1)) if rate else None,
        link_layer=_line(folder / "link_layer") or None,
    )


def _word(path: Path) -> str | None:
    """The name in "4: ACTIVE"."""
    return _line(path).partition(": ")[2] or None


def _line(path: Path) -> str:
    try:
        return path.read_text("ascii", "replace").strip()
    except OSError:
        return ""

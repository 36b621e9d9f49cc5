"""What the checks of the host share: sizes for people."""

from __future__ import annotations

MIB = 1024**2
GIB = 1024**3


def size(number: int) -> str:
    """64 MiB, 1.5 GiB, 12 GiB."""
    if number < GIB:
        return f"{number / MIB:.0f} MiB"
    return f"{number / GIB:.1f} GiB" if number < 10 * GIB else f"{number / GIB:.0f} GiB"

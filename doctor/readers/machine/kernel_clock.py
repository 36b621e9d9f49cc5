"""Whether the kernel's clock is disciplined by NTP or PTP, by the kernel's own account."""

from __future__ import annotations

import ctypes
import os

from doctor.facts.node import Clock

# linux/timex.h, https://man7.org/linux/man-pages/man2/adjtimex.2.html
_STA_UNSYNC = 0x0040
_STA_NANO = 0x2000
_TIME_ERROR = 5


class _Timex(ctypes.Structure):
    """struct timex of 64-bit Linux."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("constant", ctypes.c_long),
        ("precision", ctypes.c_long),
        ("tolerance", ctypes.c_long),
        ("time", ctypes.c_long * 2),
        ("tick", ctypes.c_long),
        ("ppsfreq", ctypes.c_long),
        ("jitter", ctypes.c_long),
        ("shift", ctypes.c_int),
        ("rest", ctypes.c_long * 5),
        ("tai", ctypes.c_int),
        ("padding", ctypes.c_int * 11),
    )


def look() -> Clock:
    """Ask the kernel; it changes nothing and needs no rights. All None where it may not be asked."""
    state = _Timex()  # modes 0: only read
    library = ctypes.CDLL(None, use_errno=True)
    answer = library.adjtimex(ctypes.byref(state))
    if answer < 0:
        return Clock(error=os.strerror(ctypes.get_errno()))
    unit = 1e-9 if state.status & _STA_NANO else 1e-6
    return Clock(
        synchronised=answer != _TIME_ERROR and not state.status & _STA_UNSYNC,
        offset_s=state.offset * unit,
        max_error_s=state.maxerror * 1e-6,
    )

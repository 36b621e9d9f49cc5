"""The failing rank asks the other ranks of its machine where they stand, before the launcher kills them.

Each rank has a thread that sleeps in the kernel until a datagram comes; nobody polls. The address is a name of Linux's
abstract sockets (https://man7.org/linux/man-pages/man7/unix.7.html), so that nothing is left behind; elsewhere, and
between machines, nobody is asked, and every rank tells of its own failure.
"""

from __future__ import annotations

import hashlib
import os
import socket
import struct
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Callable, Optional

from doctor.run.folder import VARIABLE

#: seconds that the failing rank waits at most, from its failure on
WAIT_S = 2.0
_LOOK_EVERY_S = 0.02
_CREDENTIALS = struct.Struct("3i")


class _Listening:
    pid: Optional[int] = None
    socket: Optional[socket.socket] = None


def _stem() -> str:
    folder = os.path.realpath(os.environ.get(VARIABLE, ""))
    return f"doctor-{hashlib.sha256(folder.encode('utf-8', 'replace')).hexdigest()[:16]}-"


def listen(stand: Callable[[], object]) -> None:
    """Answer to siblings from now on, where this is one rank of several: by `stand`, which tells where it stands.

    Raises:
        OSError: there are no such sockets here.

    """
    world = os.environ.get("WORLD_SIZE", "1")
    if sys.platform != "linux" or not os.environ.get("RANK", "").isdecimal() or world in ("", "1"):
        return
    if _Listening.pid == os.getpid():
        return
    ear = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
    ear.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    ear.bind(f"\0{_stem()}{os.getpid()}")
    first = _Listening.pid is None
    _Listening.pid, _Listening.socket = os.getpid(), ear
    if first:
        os.register_at_fork(after_in_child=_after_fork)
    threading.Thread(target=_answer, args=(ear, stand), daemon=True, name="doctor-capsule-siblings").start()


def _after_fork() -> None:
    """A forked child is no sibling, and must not hold its parent's address."""
    with suppress(Exception):
        if _Listening.socket is not None:
            _Listening.socket.close()
            _Listening.socket = None


def _answer(ear: socket.socket, stand: Callable[[], object]) -> None:
    with suppress(Exception):
        while True:
            data, ancillary, _, _ = ear.recvmsg(64, socket.CMSG_SPACE(_CREDENTIALS.size))
            if data == b"where" and _is_mine(ancillary):
                stand()


def _is_mine(ancillary: list[tuple[int, int, bytes]]) -> bool:
    """Whether a process of the same user asks; a stranger gets no answer."""
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS:
            return bool(_CREDENTIALS.unpack(data[: _CREDENTIALS.size])[1] == os.getuid())
    return False


def ask() -> list[int]:
    """Ask the siblings on this machine; gives the ids of those that were asked."""
    if sys.platform != "linux" or not os.environ.get("RANK", "").isdecimal():
        return []
    stem, asked = _stem(), []
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as mouth:
        mouth.setblocking(False)
        for pid in _addresses(stem):
            if pid != os.getpid():
                with suppress(OSError):
                    mouth.sendto(b"where", f"\0{stem}{pid}")
                    asked.append(pid)
    return asked


def _addresses(stem: str) -> list[int]:
    with open("/proc/net/unix", encoding="utf-8", errors="replace") as file:
        names = [line.rpartition("@")[2].strip() for line in file if f"@{stem}" in line]
    return [int(name[len(stem) :]) for name in names if name.startswith(stem) and name[len(stem) :].isdecimal()]


def wait(asked: list[int], folder: Path, until_s: float) -> None:
    """Wait until the capsules of all that were asked lie there, or the time is over."""
    left = set(asked)
    while left and time.monotonic() < until_s:
        left = {pid for pid in left if not any(folder.glob(f"*-{pid}.json")) and os.path.exists(f"/proc/{pid}")}
        if left:
            time.sleep(_LOOK_EVERY_S)

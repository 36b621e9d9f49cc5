"""The failing rank asks the other ranks of its machine where they stand, before the launcher kills them.

`doctor hang` asks them, too, and with them the engines, servers and actors that are no ranks.

Each has a thread that sleeps in the kernel until a datagram comes; nobody polls. The address is a name of Linux's
abstract sockets (https://man7.org/linux/man-pages/man7/unix.7.html), so that nothing is left behind; elsewhere, and
between machines, nobody is asked, and every rank tells of its own failure.
"""

from __future__ import annotations

import hashlib
import os
import re
import socket
import struct
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Callable, Optional

from doctor.run import patience
from doctor.run.folder import VARIABLE

_LOOK_EVERY_S = 0.02
_CREDENTIALS = struct.Struct("3i")
#: of a process that is no rank: a rank that fails does not wait for its answer
_ALSO = "+"
#: name of the thread that answers
THREAD = "doctor-capsule-siblings"
_TO = re.compile(rb"stand ([A-Za-z0-9.-]{1,60})")


class _Listening:
    pid: Optional[int] = None
    socket: Optional[socket.socket] = None


def _stem(folder: str) -> str:
    folder = os.path.realpath(folder)
    return f"doctor-{hashlib.sha256(folder.encode('utf-8', 'replace')).hexdigest()[:16]}-"


def listen(stand: Callable[[Optional[str]], object]) -> None:
    """Answer from now on, by `stand`, which tells where this process stands.

    Args:
        stand: given None it tells a sibling; given a name, it puts a capsule below that name among the hangs.

    Raises:
        OSError: there are no such sockets here.

    """
    if sys.platform != "linux" or _Listening.pid == os.getpid():
        return
    is_rank = _is_rank()
    if not is_rank and sys.warnoptions:  # Python 3.12 warns of a fork beside threads, and here a warning may be fatal
        return
    own = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
    own.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    own.bind(f"\0{_stem(os.environ.get(VARIABLE, ''))}{os.getpid()}{'' if is_rank else _ALSO}")
    first = _Listening.pid is None
    _Listening.pid, _Listening.socket = os.getpid(), own
    if first:
        os.register_at_fork(after_in_child=_after_fork)
    threading.Thread(target=_answer, args=(own, stand), daemon=True, name=THREAD).start()
    patience.ready()  # at the end of the process no thread can be started


def ear() -> Optional[int]:
    """Number of the open file by which this process listens; None where it does not."""
    return None if _Listening.socket is None else _Listening.socket.fileno()


def _is_rank() -> bool:
    """Whether this is one rank of several."""
    return os.environ.get("RANK", "").isdecimal() and os.environ.get("WORLD_SIZE", "1") not in ("", "1")


def _after_fork() -> None:
    """A forked child is no sibling, and must not hold its parent's address."""
    with suppress(Exception):
        if _Listening.socket is not None:
            _Listening.socket.close()
            _Listening.socket = None


def _answer(own: socket.socket, stand: Callable[[Optional[str]], object]) -> None:
    with suppress(Exception):
        while True:
            data, ancillary, _, _ = own.recvmsg(128, socket.CMSG_SPACE(_CREDENTIALS.size))
            to = _TO.fullmatch(data)
            if (data == b"where" or to) and _is_mine(ancillary):
                stand(to[1].decode() if to else None)


def _is_mine(ancillary: list[tuple[int, int, bytes]]) -> bool:
    """Whether a process of the same user asks, or root; a stranger gets no answer."""
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS:
            return _CREDENTIALS.unpack(data[: _CREDENTIALS.size])[1] in (os.getuid(), 0)
    return False


def ask() -> list[int]:
    """Ask the other ranks on this machine; gives the ids of those that were asked."""
    if sys.platform != "linux" or not os.environ.get("RANK", "").isdecimal():
        return []
    return _asked(b"where", {pid: name for pid, name in _names(os.environ.get(VARIABLE, "")).items()
                             if not name.endswith(_ALSO) and pid != os.getpid()})  # fmt: skip


def ask_all(folder: Path, to: str) -> list[int]:
    """Ask every process of a run on this machine that listens for a capsule in `hangs/<to>`; gives their ids.

    Args:
        folder: of the run.
        to: letters, digits, points and hyphens.

    Raises:
        OSError: there are no such sockets here.

    """
    return _asked(b"stand " + to.encode(), _names(str(folder)))


def _asked(question: bytes, names: dict[int, str]) -> list[int]:
    asked = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as mouth:
        mouth.setblocking(False)
        for pid, name in names.items():
            with suppress(OSError):
                mouth.sendto(question, f"\0{name}")
                asked.append(pid)
    return asked


def _names(folder: str) -> dict[int, str]:
    """Process -> its address, of all that listen in a run."""
    stem = _stem(folder)
    with open("/proc/net/unix", encoding="utf-8", errors="replace") as file:
        names = [line.rpartition("@")[2].strip() for line in file if f"@{stem}" in line]
    pids = {name: name[len(stem) :].rstrip(_ALSO) for name in names if name.startswith(stem)}
    return {int(pid): name for name, pid in pids.items() if pid.isdecimal()}


def wait(asked: list[int], folder: Path, until_s: float) -> None:
    """Wait until the capsules of all that were asked lie there, or the time is over."""
    left = set(asked)
    while left and time.monotonic() < until_s:
        left = {pid for pid in left if not any(folder.glob(f"*-{pid}.json")) and os.path.exists(f"/proc/{pid}")}
        if left:
            time.sleep(_LOOK_EVERY_S)

"""Holds this process: it writes only into its own folder, contacts nobody and touches no GPU.

The kernel holds it where it can: Landlock (https://docs.kernel.org/userspace-api/landlock.html) from Linux 5.13 on, a
network namespace without interfaces where a user may make one. Python's audit events
(https://docs.python.org/3/library/audit_events.html) refuse the same everywhere, and remember that they did: what a
program says after a refusal may be the refusal's doing. Runs in the patient: Python 3.9, standard library.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from contextlib import suppress
from typing import Any

_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38
_NEWUSER, _NEWNET = 0x10000000, 0x40000000
#: numbers of the system calls, the same on all architectures but alpha
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION, _PATH_BENEATH = 1, 1
#: every right that changes files, by the version of Landlock that knows it first
_WRITE_FILE, _TRUNCATE, _REFER = 1 << 1, 1 << 14, 1 << 13
_CHANGES = _WRITE_FILE | sum(1 << bit for bit in range(4, 13))
_CONNECTS, _WITH_REFER, _WITH_TRUNCATE, _WITH_NET = 0b11, 2, 3, 4
#: bytes that one file may grow to in the folder of its own
_LARGEST_FILE = 8 << 20
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_NOBODYS = ("/dev/null", "/dev/tty", "/proc/self/")
_CHANGING = frozenset({
    "os.remove", "os.rmdir", "os.mkdir", "os.truncate", "os.rename", "os.link", "os.symlink", "os.chmod", "os.chown",
    "os.utime", "os.setxattr", "shutil.rmtree", "shutil.move",
})  # fmt: skip
_CONTACTING = frozenset({"socket.connect", "socket.bind", "socket.sendto", "socket.getaddrinfo"})
_STARTING = frozenset({"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty"})


class HeldError(PermissionError):
    """A file that is not its own stays as it is."""


class HeldContactError(ConnectionRefusedError):
    """Nobody is contacted."""


class HeldStartError(FileNotFoundError):
    """No program is started: as if it were not installed, which who asks for git or nvidia-smi expects."""


class Held:
    """What was refused so far: `refused` are the names of audit events; `by_kernel` says what the kernel holds."""

    def __init__(self, folder: str) -> None:
        self._folder = os.path.realpath(folder) + os.sep
        self.refused: list[str] = []
        self.by_kernel: list[str] = []

    def at(self, event: str, args: tuple[Any, ...]) -> None:
        """One audit event.

        Raises:
            HeldError: it would change a file that is not in its folder.
            HeldContactError: it would contact somebody.
            HeldStartError: it would start a program.

        """
        if event == "open":
            if len(args) > 2 and isinstance(args[2], int) and args[2] & _WRITING and not self._own(args[0]):
                self._refuse(event, HeldError, 1)
        elif event in _CHANGING:
            if not all(self._own(each) for each in args[:2] if isinstance(each, (str, bytes, os.PathLike))):
                self._refuse(event, HeldError, 1)
        elif event in _CONTACTING:
            self._refuse(event, HeldContactError, 111)
        elif event in _STARTING:
            self._refuse(event, HeldStartError, 2)

    def _own(self, path: Any) -> bool:
        if not isinstance(path, (str, bytes, os.PathLike)):
            return True  # a descriptor that was opened before
        text = os.path.abspath(os.fsdecode(path))
        return text.startswith((self._folder, *_NOBODYS)) or text + os.sep == self._folder

    def _refuse(self, event: str, error: type[OSError], number: int) -> None:
        self.refused.append(event)
        raise error(number, f"a validator that the doctor runs may not do this: {event}")


def hold(folder: str, seconds: float, parent: int) -> Held:
    """Hold this process from now on, and end it with its parent or after `seconds`; `folder` alone may change."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_LARGEST_FILE, _LARGEST_FILE))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # the write fails instead
    signal.alarm(int(seconds) + 5)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    held = Held(folder)
    with suppress(OSError):
        _without_network(libc)
        held.by_kernel.append("network")
    with suppress(OSError, AttributeError):
        _without_writes(libc, folder)
        held.by_kernel.append("files")
    sys.addaudithook(held.at)
    return held


def _without_network(libc: Any) -> None:
    """Enter a network namespace in which nothing is up; a user without privileges needs a user namespace for it.

    Raises:
        OSError: the system does not permit it.

    """
    user, group = os.getuid(), os.getgid()
    if libc.unshare(_NEWNET) == 0:
        return
    _checked(libc.unshare(_NEWUSER | _NEWNET))
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)


class _Rules(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("net", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def _without_writes(libc: Any, folder: str) -> None:
    """Let the kernel refuse changes outside of a folder, and connections where it knows how.

    Raises:
        OSError: the kernel has no Landlock, or it is switched off.

    """
    libc.syscall.restype = ctypes.c_long
    version = _checked(libc.syscall(_CREATE_RULESET, None, 0, _VERSION))
    changes = _CHANGES | (_REFER if version >= _WITH_REFER else 0) | (_TRUNCATE if version >= _WITH_TRUNCATE else 0)
    rules = _Rules(changes, _CONNECTS if version >= _WITH_NET else 0)
    size = ctypes.sizeof(rules) if version >= _WITH_NET else 8
    ruleset = _checked(libc.syscall(_CREATE_RULESET, ctypes.byref(rules), size, 0))
    for path, allowed in ((folder, changes), ("/dev/null", changes & (_WRITE_FILE | _TRUNCATE))):
        place = os.open(path, os.O_PATH)
        beneath = _Beneath(allowed, place)
        _checked(libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(beneath), 0))
        os.close(place)
    _checked(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    _checked(libc.syscall(_RESTRICT_SELF, ruleset, 0))
    os.close(ruleset)


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result

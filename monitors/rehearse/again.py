"""The second start of a program, from where the imports of its first one ended: a copy that waits until it is told.

Imports are most of a rehearsal's time, and a resume in a process of its own would need them twice. When the trainer's
library has been imported, which scripts do before anything else, the process is copied; the copy waits beside the first
pass and goes on as the second one. What a copy would share with the original forbids it: threads of Python's, children,
files and connections that are open, a GPU. Then the second pass is an ordinary start; so it is where the copy fails,
for a copy accuses nobody.

https://man7.org/linux/man-pages/man2/fork.2.html
"""

from __future__ import annotations

import json
import os
import select
import sys
import threading
import warnings
from pathlib import Path
from typing import Any, Optional

from doctor.monitors.capsule import hooks, siblings
from doctor.monitors.rehearse import journal
from doctor.monitors.rehearse.settings import forget, settings

#: below the rehearsal's folder: the pipe by which a copy is told, and the id of the copy
FOLDER, PIPE, PID = "again", "go", "pid"
#: what every program has open, and nobody else's reading moves
_NOBODYS = ("/dev/null", "/dev/urandom", "/dev/random", "/dev/zero")
_STANDARD = 2
_MOST = 1 << 20


def keep() -> None:
    """Copy this process, where it is the command itself and shares nothing; return in both of them.

    In the copy this returns when the doctor says that the second pass begins. Whatever goes wrong in the copy ends it.
    """
    wished = settings()
    if not wished.doctor or wished.resume or os.getppid() != wished.doctor or journal.inside():
        return
    try:
        if _shared(wished.root.parent):
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's remark that a library has threads of its own
            middle = os.fork()
    except OSError:  # a kernel that does not list children, a limit of processes
        return
    folder = wished.root / FOLDER
    if middle:
        os.waitpid(middle, 0)
        return
    try:
        if os.fork():
            os._exit(0)  # so that the copy is the doctor's child and none of the program's
        os.setsid()
        _begin(_waited(folder))
    except BaseException:  # noqa: BLE001 - never a second time into the program
        os._exit(1)


def _shared(own: Path) -> bool:
    """Whether a copy would share with this process what both of them change."""
    if any(each.name != siblings.THREAD for each in threading.enumerate() if each is not threading.main_thread()):
        return True
    torch: Any = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        return True
    with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
        if file.read().strip():
            return True
    heard = siblings.ear()  # closed in whatever is forked
    return any(_is_shared(number, str(own)) for number in os.listdir("/proc/self/fd") if number != str(heard))


def _is_shared(number: str, own: str) -> bool:
    """Whether an open file is none of the standard ones, of nobody's, or of the rehearsal's own."""
    try:
        target = os.readlink(f"/proc/self/fd/{number}")
    except OSError:  # what listed them
        return False
    inside = target.startswith((f"{own}/", "anon_inode:"))
    return int(number) > _STANDARD and target not in _NOBODYS and not inside


def _waited(folder: Path) -> dict[str, Any]:
    """What the doctor says; ends this process where it says nothing before it has gone."""
    pipe = os.open(folder / PIPE, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    part = folder / f"{PID}.part"
    part.write_text(str(os.getpid()), encoding="ascii")
    part.rename(folder / PID)
    said = b""
    while not said.endswith(b"\n"):
        select.select([pipe], [], [])
        more = os.read(pipe, _MOST)
        if not more:
            os._exit(0)
        said += more
    os.close(pipe)
    told: dict[str, Any] = json.loads(said)
    return told


def _begin(told: dict[str, Any]) -> None:
    """Be the second pass: its variables, its output, its journal."""
    os.environ.update(told["variables"])
    console = os.open(told["console"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    for number in (1, 2):
        os.dup2(console, number)
    os.close(console)
    forget()
    journal.forget()
    journal.write("process", argv=list(getattr(sys, "argv", []))[:4], parent=os.getppid(), copy=True)
    hooks.moved()
    run: Optional[str] = os.environ.get("DOCTOR_RUN_DIR")
    if run:
        from doctor.monitors.rehearse import standing

        standing.listen(Path(run))

"""What a command prints, on its way to the doctor's own standard output and error and into the console log.

Streams that are apart outside stay apart, those that are one there (`2>&1`, one terminal) are one: a pipe, or, where
there is a terminal outside, another one of its size. Of two relays (see `doctor.run.relay`) one copies and one waits
for its death; this process holds the same descriptors and starts a new one for each that has died. The command's
standard input and its controlling terminal are left as they are: Ctrl-C, Ctrl-Z and `input()` are the terminal's.
"""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Optional

from doctor.run import relay as relay_module
from doctor.run.folder import RunDir
from doctor.run.relay import Lane, Page, Relay, lane_word, wake

#: a run that is over sooner needs nobody who waits for the relay's death
_STANDBY_AFTER_S = 1.0
#: relays that die at once, after which this process copies itself
_MOST_FAILED, _AT_ONCE_S = 3, 1.0
#: how long the end waits for a slow disk; for the terminal it waits as the command itself would
_KEPT_S = 5.0
#: the signal that ended the command may have been sent to us as well
_OWN_S = 1.0
_LOOK_S = 0.01
#: signals by which a program that is broken ends
_FAULTS = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT, signal.SIGTRAP}
#: of a pipe: fewer turns for a command that prints much; what a user without rights may ask for
#: https://man7.org/linux/man-pages/man7/pipe.7.html
_PIPE_BYTES = 1 << 20


class Console:
    """The command's standard output and error.

    Args:
        run: folder of the run, which exists.
        tell: called once each with `unkept` and the error number of the first failure to record something, and with
            `unshown` and that of an output that takes nothing more.

    Raises:
        OSError: there is no pipe or no memory left.

    """

    def __init__(self, run: RunDir, tell: Callable[[str, int], object]) -> None:
        with suppress(OSError):  # the log's own failure is told by who writes it
            run.console.parent.mkdir(parents=True, exist_ok=True)
        self._log = str(run.console)
        closed = _occupied()
        self._page = Page.new()
        self._control, self._end = os.pipe()
        #: what the command gets as standard output and error
        self.stdout, self.stderr, self._lanes = _lanes(closed)
        self._relays: dict[subprocess.Popen[bytes], float] = {}  # when each was started
        self._failed = 0
        self._began = time.monotonic()
        self._own: Optional[threading.Thread] = None
        self._tell, self._told = tell, set[str]()
        self._start()
        _OPEN.append(self)

    @property
    def has_terminal(self) -> bool:
        """Whether the command sees a terminal of ours."""
        return any(each.terminal for each in self._lanes)

    @property
    def unkept(self) -> Optional[dict[str, Any]]:
        """What could not be recorded: why, since when, how much; None where nothing is missing."""
        if not (number := self._page.get("errno")):
            return None
        names = ("since_ns", "lost_bytes", "lost_lines")
        return {"reason": errno.errorcode.get(number, str(number)), **{name: self._page.get(name) for name in names}}

    def begun(self) -> None:
        """The command has its ends: close ours, or the streams would never end."""
        for each in {self.stdout, self.stderr}:
            os.close(each)

    def look(self) -> None:
        """Replace relays that have died, let one that was stopped go on, tell what cannot be recorded."""
        for each in [each for each in self._relays if each.poll() is not None]:
            self._failed += time.monotonic() - self._relays.pop(each) < _AT_ONCE_S
        wake(self._page.get("pid"))
        wanted = 1 if time.monotonic() - self._began < _STANDBY_AFTER_S else 2
        while len(self._relays) < wanted and self._own is None and not self._page.get("shown"):
            if not self._start():
                break
        self._tell_once()

    def _tell_once(self) -> None:
        for what, name in (("unkept", "errno"), ("unshown", "unshown")):
            number = self._page.get(name)
            if number and what not in self._told:
                self._told.add(what)
                self._tell(what, number)

    def resized(self) -> bool:
        """Hand on the terminal's size; whether the command's had another."""
        return sum(each.resize() for each in self._lanes) > 0  # of each, not only of the first

    def fresh_line(self) -> None:
        """End the line that the command has left open where we are about to say something."""
        number = len(self._lanes) - 1
        with suppress(OSError):
            if self._page.get(f"open{number}"):
                os.write(2, b"\n")
                self._page.set(f"open{number}", 0)

    def finish(self, signalled: Callable[[float], bool]) -> None:
        """The command has ended: wait until all that it has said is shown, and a little until it is recorded.

        Args:
            signalled: waits so many seconds, and tells whether somebody wants us to end.

        """
        self._page.set("ended", 1)
        os.close(self._end)
        self._end = -1
        began = time.monotonic()
        while not self._page.get("shown"):
            self.look()
            if signalled(_LOOK_S) and time.monotonic() - began > _OWN_S:
                return
        self.fresh_line()
        began = time.monotonic()
        while not self._page.get("kept") and time.monotonic() - began < _KEPT_S:
            self.look()
            signalled(_LOOK_S)
        if not self._page.get("kept") and not self._page.get("errno"):
            self._page.set("errno", errno.ETIMEDOUT)
            self._page.set("since_ns", time.time_ns())
        self._tell_once()

    def close(self) -> None:
        """Close what is ours, and end the relay that waits for nothing any more."""
        _OPEN.remove(self)
        kept = self._page.get("kept")
        worker = self._page.get("pid")
        for each in self._relays:
            if kept and each.pid == worker:
                with suppress(subprocess.TimeoutExpired):
                    each.wait(0.1)  # it has ended, unless processes that the command left behind still write
        working = any(each.pid == worker and each.returncode is None for each in self._relays)
        for each in self._relays:
            if kept and not working:
                each.kill()
                each.wait()
        for number in (self._control, self._end, self._page.file):
            if number >= 0:
                os.close(number)
        for lane in self._lanes:
            os.close(lane.source)
            lane.leave()

    def _start(self) -> bool:
        """Start a relay; where that does not work again and again, copy in this process. Whether there is one."""
        if self._failed < _MOST_FAILED:
            numbers = [self._page.file, self._control, *(each.source for each in self._lanes)]
            numbers += [each.target for each in self._lanes if each.target >= 0]
            words = [str(self._page.file), str(self._control), self._log, *map(lane_word, self._lanes)]
            # what is blocked here stays so there: whoever signals all processes of a job wants the last words as well
            before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals() - _FAULTS)
            try:
                made = subprocess.Popen(
                    [sys.executable, "-I", "-S", relay_module.__file__, *words], pass_fds=numbers,
                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                    start_new_session=True, cwd="/",
                )  # fmt: skip
            except (OSError, ValueError):
                self._failed += 1
                return False
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
            self._relays[made] = time.monotonic()
            return True
        if not self._page.taken():
            return False
        self._own = thread(Relay(self._copies(), self._page, os.dup(self._control), self._log).work)
        return True

    def _copies(self) -> list[Lane]:
        """The lanes with descriptors of their own, for they are closed elsewhere and at another time than ours."""
        return [
            Lane(os.dup(each.source), os.dup(each.target) if each.target >= 0 else -1, terminal=each.terminal)
            for each in self._lanes
        ]


#: consoles of commands that run
_OPEN: list[Console] = []


def fresh_line() -> None:
    """Before the doctor says something: end the line that a command has left open there."""
    for each in _OPEN:
        each.fresh_line()


def thread(work: Callable[[], object], name: Optional[str] = None) -> threading.Thread:
    """A thread that no signal is delivered to: those of the supervisor belong to the one that hands them on."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        made = threading.Thread(target=work, name=name, daemon=True)
        made.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return made


def _occupied() -> frozenset[int]:
    """Standard streams that are closed; their numbers are taken, or the next file would become one of them.

    The command's own stay closed.
    """
    closed = set()
    while (number := os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)) <= 2:
        closed.add(number)
    os.close(number)
    return frozenset(closed)


def _lanes(closed: frozenset[int]) -> tuple[int, int, list[Lane]]:
    """The command's standard output and error, and the lanes behind them: one where both lead to the same place."""
    stdout, first = _lane(1, closed)
    if not closed & {1, 2} and os.path.sameopenfile(1, 2):
        return stdout, stdout, [first]
    stderr, second = _lane(2, closed)
    return stdout, stderr, [first, second]


def _lane(number: int, closed: frozenset[int]) -> tuple[int, Lane]:
    """What the command gets as this standard stream, and the way from there to ours."""
    target = -1 if number in closed else fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 3)
    if target >= 0 and os.isatty(target):
        with suppress(OSError, termios.error):  # no more terminals: a pipe will do
            return _terminal(target)
    source, end = os.pipe()
    with suppress(OSError):
        fcntl.fcntl(source, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
    return end, Lane(source, target, terminal=False)


def _terminal(target: int) -> tuple[int, Lane]:
    """A terminal like the real one, but it changes nothing in what is written: the real one does."""
    source, end = os.openpty()
    try:
        modes: list[Any] = termios.tcgetattr(target)
        modes[1] &= ~termios.OPOST
        termios.tcsetattr(end, termios.TCSANOW, modes)
    except BaseException:
        os.close(source)
        os.close(end)
        raise
    lane = Lane(source, target, terminal=True)
    lane.resize()
    return end, lane

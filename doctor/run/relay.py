"""The small process between a command and its terminal: it copies what the command prints there, and into the log.

The doctor starts it twice and holds the same descriptors: one relay works, the other waits until the first is gone, and
the doctor starts a new one in its place, so that no death of one of the three breaks the command's pipe or terminal.
It runs by itself (`python -I -S relay.py`), with the standard library alone, in a session of its own, where no Ctrl-C
reaches it before the command's last words are read.

Each stream has a thread, so that one whose reader is slow keeps nobody but itself waiting, and the log has one too: a
disk that is full costs the log its lines, a disk that does not answer as many as do not fit into `MOST_HELD`.
"""

from __future__ import annotations

import errno
import fcntl
import os
import select
import struct
import sys
import termios
import threading
import time
from collections import deque
from contextlib import suppress

TYPE_CHECKING = False  # typing and signal take longer to import than all else here, and a short command waits for it
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Optional

#: bytes that wait for a slow disk, and of one read
MOST_HELD, _BLOCK = 8 << 20, 1 << 18
#: a terminal hands out 4 kB a read: what more is there already is taken with it, up to so much, and shown at once
#: https://github.com/torvalds/linux/blob/v6.12/drivers/tty/n_tty.c (N_TTY_BUF_SIZE)
_TOGETHER, _PORTION = 1 << 16, 1 << 10

#: how long the command may wait for a slow disk: at once, and in all; then the log loses what does not fit
_WAIT_S, _WAIT_ALL_S = 1.0, 10.0
#: a disk that refused a write is asked again so much later
_RETRY_S = 1.0
#: a line without an end is written into the log after so long; the states of a progress bar stand for themselves
_UNFINISHED_S, _PROGRESS_S = 10.0, 1.0
#: how often a terminal's size is compared, and whether the worker still lives
_SIZE_S, _STANDBY_S = 0.25, 0.2
#: what a command wrote into a terminal before its end may arrive a little later, while others write on for ever
_LATE_MS, _LATE_S = 50, 1.0
#: a reader that has gone, and a terminal that was closed
_NOBODY_READS = frozenset({errno.EPIPE, errno.EIO})


class Page:
    """Whole numbers that all processes of one run see, in memory that outlives each of them.

    Args:
        file: descriptor of the memory; its lock is held by the relay that works.

    """

    _NAMES = (
        "pid",  # of the relay that works
        "ended",  # the command has ended: show what is there, and leave the terminal
        "shown",  # that is done
        "kept",  # and it lies in the log
        "errno",  # of the first thing that could not be recorded
        "since_ns",  # when that was
        "lost_bytes",
        "lost_lines",
        "started",  # how many relays have worked
        "open0",  # whether the last line of the first stream has no end yet
        "open1",  # of the second
        "unshown",  # error number of an output that takes nothing more, though somebody may read it
    )

    def __init__(self, file: int) -> None:
        self.file = file

    @classmethod
    def new(cls) -> Page:
        """A page of zeros.

        Raises:
            OSError: there is no memory for it.

        """
        file = os.memfd_create("console")
        os.ftruncate(file, 8 * len(cls._NAMES))
        return cls(file)

    def get(self, name: str) -> int:
        """The number of that name."""
        return int(struct.unpack("<q", os.pread(self.file, 8, 8 * self._NAMES.index(name)))[0])

    def set(self, name: str, value: int) -> None:
        """Change the number of that name."""
        os.pwrite(self.file, struct.pack("<q", value), 8 * self._NAMES.index(name))

    def taken(self) -> bool:
        """Become the one that works, where nobody is."""
        try:
            fcntl.lockf(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        self.set("pid", os.getpid())
        self.set("started", self.get("started") + 1)
        return True


class Lane:
    """One way from the command to the outside.

    Args:
        source: what is read: the end of a pipe, or a terminal's other side.
        target: where it is shown; -1: nowhere.
        terminal: whether `source` is a terminal's other side.

    """

    def __init__(self, source: int, target: int, *, terminal: bool) -> None:
        self.source, self.target, self.terminal = source, target, terminal
        self._size = b""
        #: error number by which the target was left, other than that nobody reads there any more
        self.refused = 0

    def read(self) -> bytes:
        """What is there; nothing at the end, which a terminal tells by an error."""
        try:
            return os.read(self.source, _BLOCK)
        except OSError:
            return b""

    def show(self, data: bytes) -> None:
        """Write all of it; where nobody reads any more, the command goes on."""
        view = memoryview(data)
        try:
            while view and self.target >= 0:
                view = view[_written(self.target, view) :]
        except OSError as exc:
            self.refused = 0 if exc.errno in _NOBODY_READS else exc.errno or errno.EIO
            self.leave()

    def leave(self) -> None:
        """Show nothing any more."""
        if self.target >= 0:
            os.close(self.target)
            self.target = -1

    def resize(self) -> bool:
        """Give the command's terminal the size of the real one; whether it had another."""
        if not self.terminal or self.target < 0:
            return False
        try:
            size = fcntl.ioctl(self.target, termios.TIOCGWINSZ, bytes(8))
            if size == self._size:
                return False
            self._size = size
            if fcntl.ioctl(self.source, termios.TIOCGWINSZ, bytes(8)) == size:
                return False
            fcntl.ioctl(self.source, termios.TIOCSWINSZ, size)
        except OSError:
            return False
        return True


def _written(file: int, data: memoryview) -> int:
    """Bytes written to a descriptor that its other holders may have made non-blocking."""
    while True:
        try:
            return os.write(file, data)
        except BlockingIOError:
            select.select([], [file], [], 1.0)


class Lines:
    """Makes one text of two streams: a line of one is never cut by the other.

    A stream that is alone is passed on as it comes.

    Args:
        streams: how many there are.

    """

    def __init__(self, streams: int) -> None:
        self._rests = [b""] * streams
        self._since = [0.0] * streams
        self._open: Optional[int] = None  # whose line the text ends with

    def take(self, number: int, data: bytes, now: float) -> bytes:
        """What can be written now that stream `number` has said `data`."""
        if len(self._rests) == 1:
            return self._joined(number, data)
        rest = self._rests[number]
        cut = data.rfind(b"\n") + 1
        if cut:
            whole, rest = rest + data[:cut], data[cut:]
            self._since[number] = now
        else:
            whole, rest = b"", rest + data
            if len(rest) == len(data):
                self._since[number] = now
            elif len(rest) > _BLOCK:
                whole, rest = rest, b""
        self._rests[number] = rest
        return self._joined(number, whole) if whole else b""

    def overdue(self, now: float) -> bytes:
        """Lines that have waited long enough for their end."""
        found = b""
        for number, rest in enumerate(self._rests):
            if rest and now - self._since[number] >= (_PROGRESS_S if b"\r" in rest else _UNFINISHED_S):
                found += self._joined(number, rest)
                self._rests[number] = b""
        return found

    def rest(self) -> bytes:
        """All that still waits."""
        self._since = [float("-inf")] * len(self._since)
        return self.overdue(0.0)

    @property
    def waiting(self) -> bool:
        """Whether a line waits for its end."""
        return any(self._rests)

    def _joined(self, number: int, data: bytes) -> bytes:
        cut_off = self._open not in (None, number)
        self._open = None if data.endswith(b"\n") else number
        return b"\n" + data if cut_off else data


class Log:
    """Appends to the console log, in a thread of its own.

    Args:
        path: of the log.
        page: where what could not be recorded is told.
        streams: how many write.

    """

    def __init__(self, path: str, page: Page, streams: int) -> None:
        self._path, self._page = path, page
        self._file = -1
        self._lines, self._alone = Lines(streams), streams == 1
        self._queue: deque[bytes] = deque()
        self._held = 0
        self._dropped = 0  # bytes that are missing where the queue ends
        self._gap = 0  # and where the log ends
        self._torn: Optional[bool] = None  # whether the log ends inside of a line; None: not looked yet
        self._mend = self._stuck = False
        self._patience = _WAIT_ALL_S
        self._retry = self._looked = 0.0
        self._busy = self._closed = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def put(self, number: int, data: bytes) -> None:
        """Record what a stream said; never waits for the disk."""
        with self._changed:
            self._append(self._lines.take(number, data, time.monotonic()))
            if self._held > MOST_HELD // 2 and self._patience > 0 and not self._stuck:
                self._wait_for_room()

    def _wait_for_room(self) -> None:
        """Give a slow disk a little time; where that was in vain nobody waits again before it has moved."""
        began = time.monotonic()
        self._stuck = not self._changed.wait_for(lambda: self._held <= MOST_HELD // 2, min(_WAIT_S, self._patience))
        self._patience -= time.monotonic() - began

    def flush(self) -> None:
        """Return once everything so far lies in the log, or is lost."""
        with self._changed:
            self._append(self._lines.rest())
            self._changed.wait_for(lambda: not self._queue and not self._busy)

    def close(self) -> None:
        """Write the rest and end."""
        self.flush()
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join()

    def _append(self, data: bytes) -> None:
        if data and self._held + len(data) > MOST_HELD:
            self._dropped += len(data)
            self._lose(errno.EAGAIN, data)
        elif data:
            if self._dropped:
                data = _gap(self._dropped) + data
                self._dropped = 0
            self._queue.append(data)
            self._held += len(data)
            self._changed.notify_all()

    def _work(self) -> None:
        self._busy = True
        self._write(b"")  # the file is there from the beginning, or why it is not is told
        while True:
            with self._changed:
                self._busy = False
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._queue or self._closed, 0.5 if self._lines.waiting else None)
                if self._closed and not self._queue:
                    return
                self._append(self._lines.overdue(time.monotonic()))
                data = self._queue.popleft() if self._queue else b""
                while self._queue and len(data) < _BLOCK:
                    data += self._queue.popleft()
                self._busy = True
            self._write(data)
            with self._changed:
                self._held -= len(data)
                self._stuck = False
                self._changed.notify_all()

    def _write(self, data: bytes) -> None:
        view, now = memoryview(data), time.monotonic()
        if now < self._retry:
            self._miss(data, 0)
            return
        try:
            self._open(now)
            if data and (head := self._head()):
                self._append_all(memoryview(head))
                self._gap = 0
            while view:
                view = view[self._append_some(view) :]
        except OSError as exc:
            self._retry = now + _RETRY_S
            self._shut()
            self._miss(bytes(view), exc.errno or errno.EIO)

    def _miss(self, data: bytes, number: int) -> None:
        self._gap += len(data)
        with self._changed:
            self._lose(number, data)

    def _append_some(self, view: memoryview) -> int:
        count = os.write(self._file, view)
        self._torn = view[count - 1] != ord("\n")
        return count

    def _append_all(self, view: memoryview) -> None:
        while view:
            view = view[self._append_some(view) :]

    def _head(self) -> bytes:
        """What comes between the text that lies there and the one that is written now: nothing, as a rule."""
        if self._gap:
            return (b"\n" if self._torn else b"") + _gap(self._gap)
        if self._mend:
            self._mend = False
            return b"\n"
        return b""

    def _open(self, now: float) -> None:
        """Open the file where that is to be done, anew where somebody has removed it."""
        if self._file >= 0 and now - self._looked >= _RETRY_S:
            self._looked = now
            if not os.fstat(self._file).st_nlink:
                self._shut()
        if self._file < 0:
            self._file = self._opened()
            self._looked = now
            if self._torn is None:
                size = os.fstat(self._file).st_size
                self._torn = size > 0 and os.pread(self._file, 1, size - 1) != b"\n"
                self._mend = self._torn and not self._alone  # by a relay that was killed

    def _opened(self) -> int:
        """The log, open; its folder is made where there was no room for it, so that the disk's own error is told."""
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        try:
            return os.open(self._path, flags, 0o666)
        except FileNotFoundError:
            os.mkdir(os.path.dirname(self._path))  # noqa: PTH102, PTH120 - without pathlib it starts sooner
            return os.open(self._path, flags, 0o666)

    def _shut(self) -> None:
        if self._file >= 0:
            with suppress(OSError):  # a quota may be told as late as this
                os.close(self._file)
            self._file = -1

    def _lose(self, number: int, data: bytes) -> None:
        """Count what is lost, and tell why the first was."""
        if number and not self._page.get("errno"):
            self._page.set("errno", number)
            self._page.set("since_ns", time.time_ns())
        self._page.set("lost_bytes", self._page.get("lost_bytes") + len(data))
        self._page.set("lost_lines", self._page.get("lost_lines") + data.count(b"\n"))


def _gap(count: int) -> bytes:
    return b"doctor: %d bytes of the output are missing here\n" % count


class Relay:
    """The one that works.

    Args:
        lanes: one or two.
        page: what is told to the others.
        control: read end of a pipe that the doctor closes when the command has ended, or the kernel with the doctor.
        log: path of the console log.

    """

    def __init__(self, lanes: Sequence[Lane], page: Page, control: int, log: str) -> None:
        self._lanes, self._page, self._control = lanes, page, control
        self._log = Log(log, page, len(lanes))
        self._shown = 0
        self._changed = threading.Condition()

    def work(self) -> None:
        """Copy until nobody is left who could write."""
        self._log.start()
        threads = [
            threading.Thread(target=self._copy, args=(number,), daemon=True) for number in range(len(self._lanes))
        ]
        for each in threads:
            each.start()
        with self._changed:
            self._changed.wait_for(lambda: self._shown == len(threads))
        self._page.set("shown", 1)
        self._log.flush()
        self._page.set("kept", 1)
        for each in threads:
            each.join()
        self._log.close()

    def _copy(self, number: int) -> None:
        """One lane, to its end; after the command's own end into the log alone."""
        lane = self._lanes[number]
        unfinished, looked = False, 0.0
        for data in self._said(lane):
            self._log.put(number, data)
            if lane.terminal and time.monotonic() - looked > _SIZE_S:
                looked = time.monotonic()
                lane.resize()
            lane.show(data)
            if lane.refused and not self._page.get("unshown"):
                self._page.set("unshown", lane.refused)
            if unfinished or not data.endswith(b"\n"):
                unfinished = not data.endswith(b"\n")
                self._page.set(f"open{number}", unfinished)
        self._leave(lane)
        while data := lane.read():
            self._log.put(number, data)

    def _leave(self, lane: Lane) -> None:
        lane.leave()
        with self._changed:
            self._shown += 1
            self._changed.notify_all()

    def _said(self, lane: Lane) -> Iterator[bytes]:
        """What the command says, until its end: then what it had said, and not what others that it left behind say."""
        poll = select.poll()
        poll.register(lane.source, select.POLLIN)
        poll.register(self._control, 0)
        while True:
            ready = dict(poll.poll(1000 * _SIZE_S if lane.terminal else None))
            if self._control in ready:
                poll.unregister(self._control)
                if self._page.get("ended"):
                    yield from self._last(lane)
                    return
            if lane.source in ready:
                data = lane.read()
                if not data:
                    return
                yield self._more(lane, data, poll) if lane.terminal and len(data) >= _PORTION else data
            else:
                lane.resize()

    def _more(self, lane: Lane, data: bytes, poll: select.poll) -> bytes:
        """The data with what the terminal has behind it already; its end is told again by the next read."""
        parts, size = [data], len(data)
        while size < _TOGETHER and poll.poll(0) == [(lane.source, select.POLLIN)]:
            part = lane.read()
            parts.append(part)
            size += len(part)
            if not part:
                break
        return b"".join(parts)

    def _last(self, lane: Lane) -> Iterator[bytes]:
        poll = select.poll()
        poll.register(lane.source, select.POLLIN)
        end = time.monotonic() + _LATE_S
        left = None if lane.terminal else _waiting(lane.source)
        while left is None or left > 0:
            if left is None and (time.monotonic() > end or not poll.poll(_LATE_MS)):
                return
            data = lane.read()
            if not data:
                return
            left = None if left is None else left - len(data)
            yield data


def _waiting(pipe: int) -> int:
    """Bytes that a pipe holds."""
    return int(struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0])


def wait_for_turn(page: Page, lanes: Sequence[Lane]) -> None:
    """Return when nobody works any more; one that was stopped is told to go on."""
    while not page.taken():
        time.sleep(_STANDBY_S)
        wake(page.get("pid"))
        if page.get("shown"):  # the terminal is left to others
            for each in lanes:
                each.leave()


def wake(pid: int) -> None:
    """Let a relay that somebody has stopped go on: the command waits for it."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - pathlib takes longer to import than this to run
            state = file.read().rpartition(b")")[2].split()[0]
        if state == b"T":
            import signal

            os.kill(pid, signal.SIGCONT)
    except (OSError, IndexError):
        return


def _rename(name: bytes) -> None:
    """Change the command line that others see: who ends all that is called doctor does not mean the run's output.

    https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html: fields 48 and 49 say where the command line lies.
    """
    try:
        with open("/proc/self/stat", "rb") as file:  # noqa: PTH123
            fields = file.read().rpartition(b")")[2].split()
        start, end = int(fields[45]), int(fields[46])
        if 0 < start < end:
            with open("/proc/self/mem", "r+b", buffering=0) as memory:  # noqa: PTH123
                memory.seek(start)
                memory.write(name[: end - start - 1].ljust(end - start, b"\0"))
    except (OSError, ValueError, IndexError):
        return


def _lane(word: str) -> Lane:
    source, target, terminal = (int(each) for each in word.split(","))
    return Lane(source, target, terminal=bool(terminal))


def lane_word(lane: Lane) -> str:
    """A lane as `main` reads it."""
    return f"{lane.source},{lane.target},{int(lane.terminal)}"


def main(words: list[str]) -> None:
    """Be a relay: PAGE CONTROL LOG SOURCE,TARGET,TERMINAL..., all but the log descriptors."""
    _rename(b"console-relay")
    page, control, log = Page(int(words[0])), int(words[1]), words[2]
    lanes = tuple(_lane(each) for each in words[3:])
    wait_for_turn(page, lanes)
    Relay(lanes, page, control, log).work()


if __name__ == "__main__":
    main(sys.argv[1:])

"""Runs the user's command, keeps what it prints, and gets out of its way.

What it prints goes to the terminal and into `logs/console.log` by way of a small process, so that neither the doctor's
death nor a full disk breaks its pipe (see `doctor.run.console`). The command stays in the terminal's process group:
Ctrl-C reaches it from the terminal itself, and only what others send to the doctor alone is handed on. Its exit code
becomes the doctor's.
"""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Iterator, Optional

from doctor.run import aside
from doctor.run.console import Console, fresh_line, thread
from doctor.run.folder import ROOM, ROOM_BYTES, VARIABLE, Events, RunDir, host_name
from doctor.run.starting import OUT_OF, become, inherited, started

NOT_FOUND, NOT_EXECUTABLE = 127, 126

#: what is said here, by language
_SENTENCES = {
    "en": {
        "not_started": "`{command}` cannot be started: {reason}",
        "not_on_path": "`{command}` cannot be started: it is a file in this folder, and no program of that name is on "
        "PATH; `{start}` starts it",
        "without": "{reason}: the command runs without the doctor",
        "not_kept": "the console is not kept: {reason}",
        "unkept": "the console is not kept completely: {reason}; the command is not affected",
        "unshown": "the output cannot be written any further where it goes ({reason}): the rest is in the console log "
        "of the run folder; the command is not affected",
        "slow": "the disk is too slow",
        "mute": "the disk does not answer",
        "silent": "the run folder does not answer: it is left as it is",
    },
    "zh": {
        "not_started": "无法启动 `{command}`:{reason}",
        "not_on_path": "无法启动 `{command}`:它是当前目录中的文件,PATH 中没有这个名称的程序;`{start}` 可以启动它",
        "without": "{reason}:命令在没有 doctor 的情况下运行",
        "not_kept": "未保存控制台输出:{reason}",
        "unkept": "控制台输出未完整保存:{reason};命令不受影响",
        "unshown": "输出无法继续写到其去处({reason}):其余内容在运行目录的控制台日志中;命令不受影响",
        "slow": "磁盘太慢",
        "mute": "磁盘没有响应",
        "silent": "运行目录没有响应:保持原样",
    },
}

#: handed on to the command; SIGCHLD only wakes us
_HANDED_ON = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGCONT")
)

#: si_code of a signal that a process sent with kill() (asm-generic/siginfo.h); the terminal's come from the kernel
_SENT_BY_A_PROCESS = 0

#: name of the switch of Python's subprocess module
_VFORK = "_USE_VFORK"

_POLL_S = 0.1
#: the kernel hands a signal to one process of a group after the other
_SPREAD_S = 0.02
#: what a disk that does not answer may take of the beginning and of the end of a run
_NOTE_S = 5.0


def supervise(
    argv: Sequence[str],
    run: RunDir,
    *,
    capture: bool = True,
    environment: Optional[Mapping[str, str]] = None,
    on_start: Optional[Callable[[int], None]] = None,
    noted: bool = True,
    language: str = "en",
) -> int:
    """Run the command to its end.

    Args:
        argv: the command, not empty.
        run: folder of the run, which exists.
        capture: keep what it prints in the console log; else it has the terminal to itself.
        environment: further variables of the command.
        on_start: called with the command's process id.
        noted: write `run.json`; False where another machine's process writes that of the run they share.
        language: `en` or `zh`, of what is said about the command.

    Returns:
        Its exit code; 128+n where signal n ended it; 126 or 127 where it could not be started.

    """
    say = partial(_say, _SENTENCES[language])
    folder = _Folder(run, noted=noted)
    given = inherited()
    folder.note(argv=list(argv), cwd=_here(), started_ns=time.time_ns(), host=host_name(), ranks=None)
    with _stoppable(), _signals_caught() as early, _console(run, say, capture=capture) as console:
        try:
            variables = {**os.environ, **(environment or {}), VARIABLE: str(run.path)}
            child = _started(argv, variables, given, console, say)
        except OSError as exc:
            code = NOT_FOUND if isinstance(exc, FileNotFoundError) else NOT_EXECUTABLE
            _say_why_not(say, argv[0], exc)
        else:
            if on_start is not None:
                with suppress(Exception):  # whatever it starts is ours, and a bug of ours must not touch the run
                    on_start(child.pid)
            code = _watch(child, early, console)
        unkept = None if console is None else console.unkept
    if not folder.note_end(unkept, ended_ns=time.time_ns(), exit=code):
        say("silent")
    return code


def _say_why_not(say: partial[None], command: str, exc: OSError) -> None:
    """Why the command was not started; `No such file` of a file that is there would mislead."""
    if isinstance(exc, FileNotFoundError) and os.sep not in command and Path(command).is_file():
        program = {".py": "python ", ".sh": "bash "}.get(Path(command).suffix, f".{os.sep}")
        say("not_on_path", command=command, start=program + command)
    else:
        say("not_started", command=command, reason=exc.strerror)


def _started(
    argv: Sequence[str],
    variables: dict[str, str],
    given: Sequence[int],
    console: Optional[Console],
    say: partial[None],
) -> subprocess.Popen[bytes]:
    """The command, with its ends of the console; where there is no room for a second process, in the place of this one.

    Raises:
        OSError: it cannot be started.

    """
    try:
        if console is None:
            return started(argv, variables, given)
        own = dict(variables)
        if not console.has_terminal:  # without this, Python would keep back what it prints
            own.setdefault("PYTHONUNBUFFERED", "1")
        try:
            return started(argv, own, given, stdout=console.stdout, stderr=console.stderr)
        finally:
            console.begun()
    except OSError as exc:
        if exc.errno not in OUT_OF:
            raise
        say("without", reason=exc.strerror)
        become(argv, variables)


def _here() -> Optional[str]:
    with suppress(OSError):  # somebody has removed it
        return str(Path.cwd())
    return None


class _Folder:
    """Notes in the run folder, which a full disk may cost, and a disk that does not answer costs a few seconds.

    Args:
        run: the run folder.
        noted: write `run.json`.

    """

    def __init__(self, run: RunDir, *, noted: bool) -> None:
        self._run, self._noted = run, noted
        self._values: dict[str, Any] = {}
        self._begun: list[tuple[int, int]] = []  # device and number of the folder that the run began with
        if noted:
            within(_NOTE_S, self._keep_room)

    def note(self, **values: Any) -> bool:
        """Add to `run.json`; whether the disk answered."""
        self._values.update(values)
        return not self._noted or within(_NOTE_S, lambda: self._run.write_run(**values))

    def note_end(self, unkept: Optional[dict[str, Any]], **values: Any) -> bool:
        """The last note, for which there is room on a full disk too; whether the disk answered.

        Where the disk takes it not, it is kept aside.
        """
        values.update({} if unkept is None else {"console": unkept})
        self._values.update(values)
        written: list[bool] = []

        def write() -> None:
            if self._begun and self._identity() != self._begun[0]:
                return  # another folder has taken its place, which is somebody else's
            with suppress(OSError):
                (self._run.path / ROOM).unlink(missing_ok=True)
            if self._noted:
                self._run.write_run(**values)
            written.append(True)
            if unkept is not None:
                Events(self._run, role="monitor").write("monitor", what="console", **unkept)

        answered = within(_NOTE_S, write)
        if self._noted and not written:
            aside.keep(self._run, self._values)
        return answered

    def _identity(self) -> tuple[int, int]:
        about = self._run.path.stat()
        return about.st_dev, about.st_ino

    def _keep_room(self) -> None:
        self._begun.append(self._identity())
        (self._run.path / ROOM).write_bytes(bytes(ROOM_BYTES))


def within(seconds: float, work: Callable[[], object]) -> bool:
    """Do what concerns a disk, whatever comes of it; whether it was done in time.

    Where the system grants no thread (`ulimit -u`, `ulimit -v`) it is done here, and takes as long as it takes.
    """
    try:
        made = thread(lambda: _tried(work))
    except RuntimeError:
        _tried(work)
        return True
    made.join(seconds)
    return not made.is_alive()


def answers(run: RunDir) -> bool:
    """Whether the run folder can be read within a few seconds: a network's disk may have gone meanwhile."""
    return within(_NOTE_S, lambda: [each.stat() for each in run.path.iterdir()])


def _tried(work: Callable[[], object]) -> None:
    with suppress(OSError, ValueError):  # a full disk costs the note, not the run
        work()


def _say(sentences: Mapping[str, str], name: str, **values: object) -> None:
    fresh_line()
    with suppress(OSError, ValueError, AttributeError):  # closed, or not there at all
        sys.stderr.write(f"doctor: {sentences[name].format(**values)}\n")


@contextmanager
def _console(run: RunDir, say: partial[None], *, capture: bool) -> Iterator[Optional[Console]]:
    """What takes in what the command prints; None where the terminal is the command's."""
    console = None
    if capture:
        try:
            console = Console(run, lambda what, number: say(what, reason=_reason(number, say.args[0])))
        except OSError as exc:
            say("not_kept", reason=exc.strerror)
    try:
        yield console
    finally:
        if console is not None:
            console.close()


def _reason(number: int, sentences: Mapping[str, str]) -> str:
    own = {errno.EAGAIN: "slow", errno.ETIMEDOUT: "mute"}.get(number)
    return os.strerror(number) if own is None else sentences[own]


@contextmanager
def _stoppable() -> Iterator[None]:
    """Start processes by fork, not by vfork: a Ctrl-Z may come while one starts.

    It stops the new process before its exec, for which a parent that called vfork waits without being able to stop
    itself: the shell never learns that its job has stopped, and the terminal is dead.
    https://man7.org/linux/man-pages/man2/vfork.2.html, and the switch (Python 3.9 has no vfork):
    https://docs.python.org/3/library/subprocess.html#disabling-use-of-vfork-or-posix-spawn
    """
    before = getattr(subprocess, _VFORK, None)
    setattr(subprocess, _VFORK, False)
    try:
        yield
    finally:
        setattr(subprocess, _VFORK, before)


@contextmanager
def _signals_caught() -> Iterator[list[int]]:
    """Notes signals that come before the command runs; one that was ignored (nohup) stays so, for the command too."""
    early: list[int] = []
    caught = [each for each in _HANDED_ON if signal.getsignal(each) is not signal.SIG_IGN]
    before = {each: signal.signal(each, lambda number, _frame: early.append(number)) for each in caught}
    mask: Iterable[int] = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    try:
        yield early
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _watch(child: subprocess.Popen[bytes], early: list[int], console: Optional[Console]) -> int:
    """Look after the console and hand on signals until the command has ended, and what it said is shown."""
    wanted = {each for each in _HANDED_ON if signal.getsignal(each) is not signal.SIG_IGN} | {signal.SIGCHLD}
    looked_at = wanted | {signal.SIGWINCH}
    signal.pthread_sigmask(signal.SIG_BLOCK, looked_at)
    while early:
        _hand_on(child, early.pop(0))
    with closing(_Sentinel()) as sentinel:
        while child.poll() is None:
            if console is not None:
                console.look()
            while early:  # a thread that does not block them, a library's maybe, got one while we were not waiting
                _hand_on_unless_told(child, early.pop(0), sentinel)
            info = _next_signal(looked_at, _POLL_S)
            if info is None or info.si_signo == signal.SIGCHLD:
                continue
            if info.si_signo == signal.SIGWINCH:  # the terminal told the command before its own had the new size
                if console is not None and console.resized():
                    _hand_on(child, info.si_signo)
                continue
            if info.si_signo == signal.SIGHUP and _leads_its_session():
                _hand_on(child, info.si_signo)  # a terminal that closes tells only the first process of its session
            elif info.si_code == _SENT_BY_A_PROCESS:
                _hand_on_unless_told(child, info.si_signo, sentinel)
    if console is not None:
        asked = wanted - {signal.SIGCHLD}
        console.finish(lambda seconds: _next_signal(asked, seconds) is not None)
    code = child.returncode
    return 128 - code if code < 0 else code


def _next_signal(wanted: Iterable[signal.Signals], seconds: float) -> Any:
    try:
        return signal.sigtimedwait(wanted, seconds)
    except OSError as exc:
        if exc.errno != errno.EINTR:
            raise
        return None


class _Sentinel:
    """A process of our group that keeps every signal it gets: tells a signal to the whole group from one to us alone.

    `timeout`, `scancel` and shells signal whole groups; handed on as well, such a signal would reach the command twice,
    and the second one ends most clean shutdowns half-way. It inherits the blocked signals, and ends when we do: its
    standard input closes then.
    """

    def __init__(self) -> None:
        self._process: Optional[subprocess.Popen[bytes]] = None
        self._start()

    def _start(self) -> None:
        with suppress(OSError):
            self._process = subprocess.Popen(
                ["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )

    def got(self, number: int) -> bool:
        """Whether the group was sent this signal just now."""
        if self._process is None:
            return False
        time.sleep(_SPREAD_S)
        if not _pending(self._process.pid) >> (number - 1) & 1:
            return False
        self.close()
        self._start()
        return True

    def close(self) -> None:
        """End it."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()


def _pending(pid: int) -> int:
    """Signals that wait for a process, as bits (https://man7.org/linux/man-pages/man5/proc_pid_status.5.html)."""
    with suppress(OSError, ValueError):
        for line in Path(f"/proc/{pid}/status").read_text("ascii", "replace").splitlines():
            if line.startswith("ShdPnd:"):
                return int(line.split()[1], 16)
    return 0


def _in_our_group(child: subprocess.Popen[bytes]) -> bool:
    with suppress(OSError):
        return os.getpgid(child.pid) == os.getpgrp()
    return False


def _leads_its_session() -> bool:
    return os.getsid(0) == os.getpid()


def _hand_on_unless_told(child: subprocess.Popen[bytes], number: int, sentinel: _Sentinel) -> None:
    """Hand a signal on that came to us alone; one to our whole group has reached the command already."""
    if not (_in_our_group(child) and sentinel.got(number)):
        _hand_on(child, number)


def _hand_on(child: subprocess.Popen[bytes], number: int) -> None:
    with suppress(OSError):
        child.send_signal(number)

"""Runs the user's command, keeps what it prints, and gets out of its way.

The command writes straight into `logs/console.log`, and the doctor follows that file to the terminal, so the doctor's
death breaks no pipe. The command stays in the terminal's process group: Ctrl-C reaches it from the terminal itself,
and only what others send to the doctor alone is handed on. Its exit code becomes the doctor's.
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
from typing import IO, Any, Iterator, Optional

from doctor.core.run_dir import VARIABLE, RunDir, host_name

NOT_FOUND, NOT_EXECUTABLE = 127, 126

#: what is said here, by language
_SENTENCES = {
    "en": {
        "not_started": "`{command}` cannot be started: {reason}",
        "not_kept": "the console is not kept: {reason}",
    },
    "zh": {
        "not_started": "无法启动 `{command}`:{reason}",
        "not_kept": "未保存控制台输出:{reason}",
    },
}

#: handed on to the command; SIGCHLD only wakes us
_HANDED_ON = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGCONT")
)

#: si_code of a signal that a process sent with kill() (asm-generic/siginfo.h); the terminal's come from the kernel
_SENT_BY_A_PROCESS = 0

_POLL_S = 0.1
#: the kernel hands a signal to one process of a group after the other
_SPREAD_S = 0.02
_BLOCK, _BLOCKS = 1 << 16, 64


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
    variables = {**os.environ, **(environment or {}), VARIABLE: str(run.path)}
    if capture:  # a file is no terminal: without this, Python would keep back what it prints
        variables.setdefault("PYTHONUNBUFFERED", "1")
    note = partial(_note, run) if noted else _not_noted
    note(argv=_shown(argv), cwd=str(Path.cwd()), started_ns=time.time_ns(), host=host_name(), ranks=None)
    say = partial(_say, _SENTENCES[language])
    with _signals_caught() as early, _console(run, say, capture=capture) as (console, follower):
        try:
            child = subprocess.Popen(list(argv), env=variables, stdout=console, stderr=console)
        except OSError as exc:
            code = NOT_FOUND if isinstance(exc, FileNotFoundError) else NOT_EXECUTABLE
            say("not_started", command=argv[0], reason=exc.strerror)
            note(ended_ns=time.time_ns(), exit=code)
            return code
        if on_start is not None:
            with suppress(Exception):  # whatever it starts is ours, and a bug of ours must not touch the run
                on_start(child.pid)
        code = _watch(child, early, follower)
    note(ended_ns=time.time_ns(), exit=code)
    return code


def _shown(argv: Sequence[str]) -> list[str]:
    from doctor.core.report import redact_argv

    return redact_argv(tuple(argv))


def _note(run: RunDir, **values: Any) -> None:
    with suppress(OSError):  # a full disk costs the note, not the run
        run.write_run(**values)


def _not_noted(**_values: Any) -> None:
    """Leave the note to another."""


def _say(sentences: Mapping[str, str], name: str, **values: object) -> None:
    with suppress(OSError):
        sys.stderr.write(f"doctor: {sentences[name].format(**values)}\n")


@contextmanager
def _console(
    run: RunDir, say: Callable[..., None], *, capture: bool
) -> Iterator[tuple[Optional[IO[bytes]], Optional[_Follower]]]:
    """The file that the command writes into, and who follows it; None where the terminal is the command's.

    A file that cannot be made leaves the terminal to the command too.
    """
    if not capture:
        yield None, None
        return
    try:
        run.console.parent.mkdir(parents=True, exist_ok=True)
        file = run.console.open("ab")
        follower = _Follower(run.console)
    except OSError as exc:
        say("not_kept", reason=exc.strerror)
        yield None, None
        return
    with file:
        try:
            yield file, follower
        finally:
            follower.close()


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


class _Follower:
    """Copies what is appended to the console log to our standard output, until that is closed."""

    def __init__(self, path: Path) -> None:
        self._file: Optional[IO[bytes]] = path.open("rb", buffering=0)
        self._file.seek(0, os.SEEK_END)

    def copy(self) -> None:
        """Copy what is new, with an end: a command that prints without pause must not keep us from its signals."""
        for _ in range(_BLOCKS):
            if self._file is None:
                return
            data = self._file.read(_BLOCK)
            if not data:
                return
            try:
                while data:
                    data = data[os.write(1, data) :]
            except OSError:  # nobody reads any more: the command goes on
                self.close()

    def copy_rest(self) -> None:
        """Copy all that the command had written when it ended."""
        end = 0 if self._file is None else os.fstat(self._file.fileno()).st_size
        while self._file is not None and self._file.tell() < end:
            self.copy()

    def close(self) -> None:
        """Stop copying."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _watch(child: subprocess.Popen[bytes], early: list[int], follower: Optional[_Follower]) -> int:
    """Follow and hand on signals until the command has ended."""
    wanted = {each for each in _HANDED_ON if signal.getsignal(each) is not signal.SIG_IGN} | {signal.SIGCHLD}
    signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
    while early:
        _hand_on(child, early.pop(0))
    with closing(_Sentinel()) as sentinel:
        while child.poll() is None:
            if follower is not None:
                follower.copy()
            info = _next_signal(wanted)
            if info is None or info.si_signo == signal.SIGCHLD or info.si_code != _SENT_BY_A_PROCESS:
                continue
            if not (_in_our_group(child) and sentinel.got(info.si_signo)):
                _hand_on(child, info.si_signo)
    if follower is not None:
        follower.copy_rest()
    code = child.returncode
    return 128 - code if code < 0 else code


def _next_signal(wanted: set[signal.Signals]) -> Any:
    try:
        return signal.sigtimedwait(wanted, _POLL_S)
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


def _hand_on(child: subprocess.Popen[bytes], number: int) -> None:
    with suppress(OSError):
        child.send_signal(number)

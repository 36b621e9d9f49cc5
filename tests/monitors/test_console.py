"""What a command prints, under full disks, closed folders, killed relays, and in real terminals."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import tty
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.cli import runs
from doctor.logs.postmortem import examine
from doctor.run.folder import RunDir
from doctor.run.relay import Lane, Lines, Page, Relay
from tests.commands import run_doctor
from tests.homes import with_cache
from tests.monitors.test_supervise import SUPERVISE, console, ended, started, wait_for

pytestmark = pytest.mark.process

PRINTS = "import sys\nfor k in range(18000): print(f'line {k}', 'x' * 240)\nsys.exit(5)\n"
ALL = "".join(f"line {k} {'x' * 240}\n" for k in range(18000))


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of 3 MB."""
    folder = tmp_path / "small"
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"mount is not permitted: {done.stderr.strip()}")
    yield folder
    for _ in range(50):
        if subprocess.run(["umount", str(folder)], capture_output=True, check=False).returncode == 0:
            return
        time.sleep(0.1)
    subprocess.run(["umount", "-l", str(folder)], check=True)


def run_words(folder: Path) -> list[str]:
    return [sys.executable, "-c", SUPERVISE, str(folder), "capture"]


def doctor(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    home = with_cache(folder.parent / "home")
    only = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
    return run_doctor(*words, cwd=folder, only=only)


def relays(run: Path) -> list[psutil.Process]:
    """The relays of a run: they hold its console log, or wait to do so."""
    found = []
    for each in psutil.process_iter(["cmdline"]):
        with suppress(psutil.Error, OSError):
            if (each.info["cmdline"] or [])[:1] == ["console-relay"] and str(run) in Path(
                f"/proc/{each.pid}/environ"
            ).read_bytes().decode("utf-8", "replace"):
                found.append(each)
    return found


def begun(run: Path, *argv: str) -> subprocess.Popen[str]:
    """Like `started`, with the folder in the environment, by which its relays are found."""
    return subprocess.Popen(
        [*run_words(run), *argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "TEST_RUN": str(run)},
    )  # fmt: skip


def test_what_a_terminal_holds_is_taken_and_shown_together(tmp_path: Path) -> None:
    """It hands out 4 kB a read: one write for each of them would make a command that prints much wait."""
    source, end = os.openpty()
    tty.setraw(end)
    shown, target = os.pipe()
    control, _held = os.pipe()
    lines = b"".join(b"%07d\n" % each for each in range(6000))
    relay = Relay([Lane(source, target, terminal=True)], Page.new(), control, str(tmp_path / "console.log"))
    writer = threading.Thread(target=lambda: (os.write(end, lines), os.close(end)), daemon=True)
    sizes: list[int] = []
    written = Lane.show

    def show(lane: Lane, data: bytes) -> None:
        sizes.append(len(data))
        written(lane, data)
        time.sleep(0.05)  # meanwhile the terminal fills up

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Lane, "show", show)
        writer.start()
        relay.work()
    assert (tmp_path / "console.log").read_bytes() == lines
    assert os.read(shown, 1 << 20) == lines
    assert max(sizes) > 8192, sizes


def test_a_disk_that_does_not_answer_does_not_hold_the_launch_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(runs, "_DISK_S", 0.2)
    released, create = threading.Event(), RunDir.create

    def hangs(name: str, base: Path | None = None) -> RunDir:
        if base is None:
            released.wait(30)
        return create(name, base)

    monkeypatch.setattr(RunDir, "create", hangs)
    began = time.monotonic()
    run = runs.new_run("x")
    released.set()
    assert time.monotonic() - began < 10
    assert run.path.is_relative_to(tmp_path)
    assert "has not answered" in capsys.readouterr().err


# disks ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [("run", "--no-check"), ("monitor", "--during-run")])
@pytest.mark.parametrize("left_kb", [3000, 60, 0])
def test_a_full_disk_costs_the_record_and_not_the_run(small: Path, words: tuple[str, ...], left_kb: int) -> None:
    """With the guard and the sampler, on a disk that fills up, one that is nearly full, and one that is full."""
    (small / "prints.py").write_text(PRINTS)
    free = os.statvfs(small)
    (small / "ballast").write_bytes(bytes(max(0, free.f_bavail * free.f_frsize - left_kb * 1024)))
    done = doctor(small, *words, "--", sys.executable, "prints.py")
    assert (done.returncode, done.stdout) == (5, ALL), done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("the console is not kept completely: No space left on device") == 1, done.stderr
    assert "start-up hook" not in done.stderr  # what could not be laid down is said as that
    if left_kb == 3000:
        (path,) = (small / "doctor-runs").glob("2*")
        told = RunDir(path).read_run()
        assert (told["exit"], told["console"]["reason"]) == (5, "ENOSPC")
        kept = console(path).splitlines()
        assert told["console"]["lost_bytes"] == len(ALL) - len(console(path))
        assert ALL.splitlines()[: len(kept) - 1] == kept[:-1]


def test_the_post_mortem_names_the_full_disk(small: Path) -> None:
    done = doctor(small, "run", "--no-check", "--no-guard", "--no-monitor", "--", sys.executable, "-c", PRINTS)
    assert "UNK004" in done.stderr
    assert "UNK003" not in done.stderr
    (path,) = (small / "doctor-runs").glob("2*")
    diagnosis = examine((str(path),), run_dir=str(path)).diagnosis
    first = diagnosis.outcome.findings[0]
    assert (first.problem.id, diagnosis.verdict) == ("UNK004", "unknown")
    assert any("ENOSPC" in each.reason for each in diagnosis.outcome.skipped)


@pytest.mark.parametrize("words", [("run", "--no-check"), ("monitor", "--during-run")])
def test_a_disk_without_inodes_is_named(small: Path, words: tuple[str, ...]) -> None:
    """There is room, and no file can be made: neither the log nor its folder, nor what the sampler writes."""
    subprocess.run(["mount", "-o", "remount,nr_inodes=9", str(small)], check=True)
    done = doctor(small, *words, "--", sys.executable, "-c", PRINTS)
    assert (done.returncode, done.stdout) == (5, ALL), done.stderr
    assert done.stderr.count("the console is not kept completely: No space left on device") == 1, done.stderr
    assert "has no room or no inode left" in done.stderr
    assert "No such file" not in done.stderr
    assert "before the sampler started" not in done.stderr  # it had, and could write nothing
    assert "figures in" not in done.stderr


@pytest.mark.parametrize("words", [("run", "--no-check"), ("monitor", "--during-run")])
def test_a_folder_that_the_command_removes_is_said_to_be_lost(tmp_path: Path, words: tuple[str, ...]) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    # again where the sampler has just made a file there
    again = "while os.path.exists('doctor-runs'): shutil.rmtree('doctor-runs', ignore_errors=True)"
    script = f"import os, shutil\n{again}\n{PRINTS}"
    done = doctor(folder, *words, "--", sys.executable, "-c", script)
    assert (done.returncode, done.stdout) == (5, ALL), done.stderr
    assert done.stderr.count("was lost during the run") == 1, done.stderr
    assert "nothing was sampled" not in done.stderr
    assert "figures in" not in done.stderr


def test_a_log_goes_on_when_there_is_room_again(small: Path) -> None:
    ballast = small / "ballast"
    ballast.write_bytes(bytes(2_800_000))
    run = small / "run"
    run.mkdir()
    prints = "import os, time; print('x' * 999_999, flush=True); time.sleep(1);"
    script = f"{prints} os.remove({str(ballast)!r}); time.sleep(1.5); print('end')"
    code, out, _ = ended(run, sys.executable, "-c", script)
    assert (code, len(out)) == (0, 1_000_004)
    kept = console(run)
    assert kept.endswith(" bytes of the output are missing here\nend\n")
    assert RunDir(run).read_run()["console"]["reason"] == "ENOSPC"


@pytest.mark.parametrize("harm", ["removed", "removed-before", "folder-in-its-place", "limited", "replaced"])
def test_whatever_happens_to_the_folder_the_run_goes_on(tmp_path: Path, harm: str) -> None:
    run = tmp_path / "run"
    run.mkdir()
    if harm == "removed-before":
        run.rmdir()
        run.write_text("a file")
    if harm == "folder-in-its-place":
        RunDir(run).console.mkdir(parents=True)
    limit = "ulimit -f 8; " if harm == "limited" else ""
    code = "import sys, time\nfor k in range(40): print(k, 'x' * 999, flush=True); time.sleep(0.05)\nsys.exit(6)\n"
    words = " ".join(f"'{each}'" for each in run_words(run)[1:] if each not in {SUPERVISE, "-c"})
    (tmp_path / "supervise.py").write_text(SUPERVISE)
    (tmp_path / "prints.py").write_text(code)
    line = f"{limit}exec {sys.executable} {tmp_path}/supervise.py {words} {sys.executable} {tmp_path}/prints.py"
    process = subprocess.Popen(["sh", "-c", line], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if harm in ("removed", "replaced"):
        wait_for(lambda: "x" in console(run))
        shutil.rmtree(run)
        if harm == "replaced":
            run.write_text("a file")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 6, err
    assert [line.split()[0] for line in out.splitlines()] == [str(k) for k in range(40)]
    assert err.count("doctor: ") == 1, err
    assert err.startswith("doctor: the console is not kept"), err


def test_a_disk_that_does_not_answer_holds_nobody_up_for_long(tmp_path: Path) -> None:
    """A pipe that nobody reads in the log's place blocks its writer as a dead disk does; 40 MB do not fit."""
    log = RunDir(tmp_path).console
    log.parent.mkdir()
    os.mkfifo(log)
    holder = os.open(log, os.O_RDWR)
    try:
        began = time.monotonic()
        script = "import sys; sys.stdout.write('x' * 40_000_000); sys.exit(3)"
        process = begun(tmp_path, sys.executable, "-c", script)
        out, err = process.communicate(timeout=60)
        assert (process.returncode, len(out)) == (3, 40_000_000)
        assert time.monotonic() - began < 40
        assert err.count("the disk is too slow") == 1
    finally:
        for each in relays(tmp_path):  # one waits for this disk
            each.kill()
        os.close(holder)


# two streams ---------------------------------------------------------------------------------------------------------


def test_both_streams_arrive_byte_for_byte(tmp_path: Path) -> None:
    """Also what is no text, has no line ends, or is long; as into two files of a shell."""
    script = (
        "import os\nfor k in range(300):\n os.write(1, bytes(range(256)) * 40)\n os.write(2, b'e%d\\r\\n' % k * 50)"
    )
    with (tmp_path / "out").open("wb") as out, (tmp_path / "err").open("wb") as err:
        code = subprocess.call([*run_words(tmp_path), sys.executable, "-c", script], stdout=out, stderr=err)
    assert code == 0
    assert (tmp_path / "out").read_bytes() == bytes(range(256)) * 40 * 300
    assert (tmp_path / "err").read_bytes() == b"".join(b"e%d\r\n" % k * 50 for k in range(300))
    assert len(RunDir(tmp_path).console.read_bytes()) >= 256 * 40 * 300


def test_streams_that_are_one_outside_keep_their_order(tmp_path: Path) -> None:
    script = "import os\nfor k in range(2000): os.write(1 + k % 2, b'%d\\n' % k)"
    done = subprocess.run(
        [*run_words(tmp_path), sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=True,
    )
    assert done.stdout == b"".join(b"%d\n" % k for k in range(2000))
    assert RunDir(tmp_path).console.read_bytes() == done.stdout


@given(st.lists(st.tuples(st.integers(0, 1), st.text("ab\n\r", max_size=6), st.floats(0, 20)), max_size=40))
def test_no_line_of_the_log_mixes_two_streams(said: list[tuple[int, str, float]]) -> None:
    lines, now, text = Lines(2), 0.0, b""
    for number, what, pause in said:
        now += pause
        text += lines.overdue(now)
        text += lines.take(number, what.translate({97: 65, 98: 66}).encode() if number else what.encode(), now)
    text += lines.rest()
    for line in text.split(b"\n"):
        assert not (set(line) & set(b"ab") and set(line) & set(b"AB"))
    for number, letters in enumerate((b"ab", b"AB")):
        given_ = "".join(what for each, what, _ in said if each == number).upper().encode()
        kept = bytes(each for each in text if each in letters).upper()
        assert kept == given_.replace(b"\n", b"").replace(b"\r", b"")


def test_one_stream_is_recorded_as_it_comes() -> None:
    lines = Lines(1)
    assert [lines.take(0, each, 0.0) for each in (b"a", b"\rb", b"\n")] == [b"a", b"\rb", b"\n"]


def test_what_the_doctor_says_begins_a_line(tmp_path: Path) -> None:
    script = "import sys, time; sys.stderr.write('50%'); sys.stderr.flush(); time.sleep(0.5); sys.exit(4)"
    code = f"{SUPERVISE.rsplit('sys.exit', 1)[0]}\nsupervise(sys.argv[3:], run)\nprint('doctor: over', file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path), "capture", sys.executable, "-c", script],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stderr == "50%\ndoctor: over\n"


def test_who_stays_behind_keeps_nobody_waiting_and_its_pipe(tmp_path: Path) -> None:
    """A process that the command left behind writes on: into the log alone, as the doctor has gone."""
    script = "(sleep 1.5; echo late; echo later >&2; touch $0) & echo early"
    began = time.monotonic()
    code, out, _ = ended(tmp_path, "sh", "-c", script, str(tmp_path / "alive"))
    assert (code, out) == (0, "early\n")
    assert time.monotonic() - began < 1.5 or not (tmp_path / "alive").exists()
    wait_for((tmp_path / "alive").exists)
    wait_for(lambda: console(tmp_path) in ("early\nlate\nlater\n", "early\nlater\nlate\n"))


# terminals -----------------------------------------------------------------------------------------------------------

ASKS = """
import os, shutil, sys
print([os.isatty(k) for k in range(3)], shutil.get_terminal_size().columns, flush=True)
"""


class Terminal:
    """A command in a terminal of its own, of 100 columns."""

    def __init__(self, *words: str, columns: int = 100) -> None:
        self.pid, self.leader = pty.fork()
        if self.pid == 0:
            # readline, which pytest imports, sets these two past os.environ
            environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
            os.execvpe(words[0], words, environment)  # noqa: S606 - in the forked child
        self.shown = b""

    def read(self, until: bytes, seconds: float = 30) -> bytes:
        end = time.monotonic() + seconds
        while until not in self.shown:
            assert time.monotonic() < end, self.shown
            if select.select([self.leader], [], [], 0.2)[0]:
                self.shown += os.read(self.leader, 65536)
        return self.shown

    def rest(self) -> int:
        """Read to the end; the exit code."""
        with suppress(OSError):
            while data := os.read(self.leader, 65536):
                self.shown += data
        _, status = os.waitpid(self.pid, 0)
        os.close(self.leader)
        return os.waitstatus_to_exitcode(status)


def quoted(words: list[str]) -> str:
    import shlex

    return shlex.join(words)


def test_in_a_terminal_the_command_has_one_of_the_same_size(tmp_path: Path) -> None:
    terminal = Terminal(*run_words(tmp_path), sys.executable, "-c", ASKS)
    assert terminal.rest() == 0
    assert terminal.shown == b"[True, True, True] 100\r\n"
    assert console(tmp_path) == "[True, True, True] 100\n"


@pytest.mark.parametrize(
    ("redirected", "told"),
    [
        ("2>{f}", "[True, True, False] 100"),
        ("</dev/null", "[False, True, True] 100"),
        (">{f}", "[True, False, True] 80"),
    ],
)
def test_each_stream_is_a_terminal_where_it_was_one(tmp_path: Path, redirected: str, told: str) -> None:
    aside = tmp_path / "aside"
    words = quoted([*run_words(tmp_path), sys.executable, "-c", ASKS])
    terminal = Terminal("sh", "-c", f"{words} {redirected.format(f=aside)}")
    assert terminal.rest() == 0
    shown = aside.read_text() if redirected == ">{f}" else terminal.shown.decode().replace("\r\n", "\n")
    assert shown == f"{told}\n"


def test_the_size_follows_the_terminal(tmp_path: Path) -> None:
    script = (
        "import shutil, signal, time\n"
        "signal.signal(signal.SIGWINCH, lambda *_: print(shutil.get_terminal_size().columns))\n"
        "print('ready')\nend = time.monotonic() + 20\nwhile time.monotonic() < end: time.sleep(0.05)\n"
    )
    terminal = Terminal(*run_words(tmp_path), sys.executable, "-c", script)
    terminal.read(b"ready")
    fcntl.ioctl(terminal.leader, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 77, 0, 0))
    terminal.read(b"77\r\n")
    os.write(terminal.leader, b"\x03")
    assert terminal.rest() == 130


def test_a_question_is_answered_and_an_interrupt_arrives(tmp_path: Path) -> None:
    script = (
        "import time\nprint('hello ' + input('name? '))\n"
        # not `input`: CPython notices an interrupt that comes between prompt and reading only when something is typed;
        # asked inside of the `try`, for the answer comes as soon as the question is seen
        "try:\n print('more? ', flush=True)\n while True: time.sleep(0.1)\n"
        "except KeyboardInterrupt: print('stopped'); raise SystemExit(9)"
    )
    terminal = Terminal(*run_words(tmp_path), sys.executable, "-c", script)
    terminal.read(b"name? ")
    os.write(terminal.leader, b"Ada\r")
    terminal.read(b"hello Ada\r\n")
    terminal.read(b"more? ")
    os.write(terminal.leader, b"\x03")
    assert terminal.rest() == 9
    assert b"stopped\r\n" in terminal.shown
    assert "hello Ada\n" in console(tmp_path)


def test_a_shell_can_stop_it_and_let_it_go_on(tmp_path: Path) -> None:
    words = quoted([*run_words(tmp_path), "sh", "-c", "echo ready; sleep 1; echo over; exit 3"])
    terminal = Terminal("bash", "--norc", "-i")
    os.write(terminal.leader, f"PS1='$ '; {words}\n".encode())
    terminal.read(b"\rready\r\n")
    os.write(terminal.leader, b"\x1a")
    terminal.read(b"Stopped")
    os.write(terminal.leader, b"fg; echo code $?\n")
    terminal.read(b"\r\nover\r\n")
    terminal.read(b"code 3\r\n")
    os.write(terminal.leader, b"exit\n")
    terminal.rest()


def test_it_can_be_stopped_while_it_starts_a_process(tmp_path: Path) -> None:
    """The search of a very long PATH is the time between fork and exec, in which the new process stops first."""
    code = SUPERVISE.replace("import sys", "import subprocess, sys", 1).replace(
        "on_start=lambda pid: run.write_run(child=pid)",
        "on_start=lambda pid: [subprocess.run(['true']) for _ in range(999)]",
    )
    assert "range(999)" in code
    environment = {**os.environ, "PATH": "/a:" * 40_000 + "/usr/bin:/bin"}
    for number in range(8):
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path), "terminal", "/bin/sh", "-c", "echo ready; exec /bin/sleep 60"],
            env=environment, stdout=subprocess.PIPE, preexec_fn=os.setpgrp,  # noqa: PLW1509 - a job of a shell is a group
        )  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        time.sleep(0.1 + 0.013 * number)
        os.killpg(process.pid, signal.SIGTSTP)
        supervisor = psutil.Process(process.pid)
        try:
            wait_for(lambda supervisor=supervisor: supervisor.status() == psutil.STATUS_STOPPED)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(30)
            process.stdout.close()


def test_in_the_background_and_without_a_terminal(tmp_path: Path) -> None:
    words = quoted([*run_words(tmp_path), "sh", "-c", "echo out; echo err >&2; exit 3"])
    done = subprocess.run(
        ["setsid", "sh", "-c", f"nohup {words} & wait $!"], capture_output=True, text=True, stdin=subprocess.DEVNULL,
        timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (3, "out\n")
    assert "err\n" in done.stderr


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_stay_closed(tmp_path: Path, closed: str) -> None:
    closed_there = "[k for k in range(3) if not os.path.exists(f'/proc/self/fd/{k}')]"
    script = f"import os\nclosed = {closed_there}\nopen({str(tmp_path / 'ran')!r}, 'w').write(str(closed))"
    words = quoted([*run_words(tmp_path), sys.executable, "-c", script])
    assert subprocess.run(["sh", "-c", f"{words} {closed}"], check=False, timeout=60).returncode == 0
    stdin_closed = "<&-" in closed
    assert (tmp_path / "ran").read_text() == ("[0]" if stdin_closed else "[]")


# kills ---------------------------------------------------------------------------------------------------------------

#: counts to 40, and waits at every eighth number until it may go on: what is killed there is killed between two lines
COUNTS = """
import os, sys, time
for k in range(40):
    print(k)
    time.sleep(0.02)
    while k in range(8, 40, 8) and not os.path.exists(f"{sys.argv[1]}/go-{k}"):
        time.sleep(0.02)
open(f"{sys.argv[1]}/end", "w")
sys.exit(8)
"""
STOPS = range(8, 40, 8)
NUMBERS = "".join(f"{k}\n" for k in range(40))


def counting(folder: Path) -> subprocess.Popen[str]:
    """A supervised run of COUNTS."""
    return begun(folder, sys.executable, "-c", COUNTS, str(folder))


def stands_at(folder: Path, number: int) -> None:
    """Return when it waits at a number, and what it has said is kept."""
    wait_for(lambda: f"\n{number}\n" in console(folder))
    time.sleep(0.1)  # what has been read when a relay is killed is lost: between two lines nothing has


def let_go(folder: Path, *numbers: int) -> None:
    for each in numbers:
        (folder / f"go-{each}").touch()


def test_a_killed_relay_is_replaced_again_and_again(tmp_path: Path) -> None:
    process = counting(tmp_path)
    for number in STOPS:
        stands_at(tmp_path, number)
        for each in relays(tmp_path):
            each.kill()
        let_go(tmp_path, number)
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (8, NUMBERS)
    assert console(tmp_path) == NUMBERS
    wait_for(lambda: not relays(tmp_path))


@pytest.mark.parametrize("order", ["doctor-relay", "relay-doctor", "doctor-only", "all-named-doctor"])
def test_kills_in_any_order_leave_the_run_and_its_output(tmp_path: Path, order: str) -> None:
    process = counting(tmp_path)
    wait_for(lambda: len(relays(tmp_path)) == 2)
    stands_at(tmp_path, STOPS[0])
    if order == "relay-doctor":
        (worker,) = [each for each in relays(tmp_path) if each.num_threads() > 1]
        worker.kill()
        time.sleep(1)
    process.kill()
    let_go(tmp_path, *STOPS[:2])
    stands_at(tmp_path, STOPS[2])
    if order == "doctor-relay":
        (worker,) = [each for each in relays(tmp_path) if each.num_threads() > 1]
        worker.kill()
    let_go(tmp_path, *STOPS)
    out, _ = process.communicate(timeout=60)  # the relay holds standard output until the command has ended
    wait_for((tmp_path / "end").exists)
    assert out == NUMBERS
    assert console(tmp_path) == NUMBERS
    wait_for(lambda: not relays(tmp_path))


def test_a_stopped_relay_goes_on(tmp_path: Path) -> None:
    process = counting(tmp_path)
    wait_for(lambda: len(relays(tmp_path)) == 2)
    stands_at(tmp_path, STOPS[0])
    for each in relays(tmp_path):
        each.send_signal(signal.SIGSTOP)
    let_go(tmp_path, *STOPS)
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (8, NUMBERS)


def test_a_relay_that_does_not_start_is_done_without(tmp_path: Path) -> None:
    code = f"import sys; sys.executable = '/bin/false'\n{SUPERVISE}"
    script = "import sys\nfor k in range(9): print(k); print('e', file=sys.stderr)\nsys.exit(8)"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path), "capture", sys.executable, "-c", script],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (8, "012345678".replace("", "\n")[1:], "e\n" * 9)
    assert sorted(console(tmp_path).splitlines()) == sorted([*"012345678", *"e" * 9])


def test_a_terminal_that_closes_ends_the_run_as_without_the_doctor(tmp_path: Path) -> None:
    script = f"trap 'echo hung up; touch {tmp_path}/end; exit 1' HUP; echo ready; while :; do sleep 0.1; done"
    terminal = Terminal(*run_words(tmp_path), "sh", "-c", script)
    terminal.read(b"ready")
    os.close(terminal.leader)
    wait_for((tmp_path / "end").exists)
    wait_for(lambda: console(tmp_path) == "ready\nhung up\n")
    os.waitpid(terminal.pid, 0)


def test_a_reader_that_waits_holds_the_command_up_as_without_the_doctor(tmp_path: Path) -> None:
    """And the other stream is not held up with it."""
    script = (
        f"import sys, os\nos.write(2, b'first\\n')\nos.write(1, b'x' * 8_000_000)\nopen({str(tmp_path / 'end')!r}, 'w')"
    )
    process = started(tmp_path, sys.executable, "-c", script)
    assert process.stderr is not None
    assert process.stderr.readline() == "first\n"
    time.sleep(1)
    assert not (tmp_path / "end").exists()
    told: list[str] = []
    reader = threading.Thread(target=lambda: told.append(process.stdout.read()))  # type: ignore[union-attr]
    reader.start()
    reader.join(30)
    assert len(told[0]) == 8_000_000
    assert process.wait(30) == 0
    process.stderr.close()
    assert process.stdout is not None
    process.stdout.close()


@pytest.mark.parametrize("options", [(), ("--no-capture",)])
def test_nothing_of_the_doctor_is_left_behind(tmp_path: Path, options: tuple[str, ...]) -> None:
    (tmp_path / "w").mkdir()
    before = {each.pid for each in psutil.process_iter()}
    done = doctor(tmp_path / "w", "run", "--no-check", "--no-guard", *options, "--", "sh", "-c", "sleep 1.3; echo over")
    assert (done.returncode, done.stdout) == (0, "over\n")

    def ours() -> list[str]:
        known = [(each, json.dumps(each.info)) for each in psutil.process_iter(["cmdline", "environ"])]
        return [str(each) for each, text in known if each.pid not in before and str(tmp_path) in text]

    wait_for(lambda: not ours())

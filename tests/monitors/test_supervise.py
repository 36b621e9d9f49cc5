"""The supervisor with real commands: exit codes, signals, a doctor that is killed, a terminal that goes away."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.run.folder import RunDir

pytestmark = pytest.mark.process

SUPERVISE = """
import sys
from doctor.run.folder import RunDir
from doctor.run.supervise import supervise
run, capture = RunDir(sys.argv[1]), sys.argv[2] == "capture"
sys.exit(supervise(sys.argv[3:], run, capture=capture, on_start=lambda pid: run.write_run(child=pid)))
"""


def started(folder: Path, *argv: str, capture: bool = True) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", SUPERVISE, str(folder), "capture" if capture else "terminal", *argv],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def ended(folder: Path, *argv: str, capture: bool = True) -> tuple[int, str, str]:
    process = started(folder, *argv, capture=capture)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def wait_for(what: Callable[[], object]) -> None:
    end = time.monotonic() + 30
    while not what():
        assert time.monotonic() < end, "did not happen within 30 s"
        time.sleep(0.02)


def console(folder: Path) -> str:
    path = RunDir(folder).console
    return path.read_text() if path.exists() else ""


def test_where_no_thread_is_granted_a_note_is_written_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from doctor.run import supervise

    def refuses(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    done: list[int] = []
    monkeypatch.setattr(supervise, "thread", refuses)
    assert supervise.within(1.0, lambda: done.append(1))
    assert supervise.within(1.0, lambda: done.append(os.open(tmp_path / "none", os.O_RDONLY)))
    assert done == [1]


def test_output_and_exit_code_are_the_commands(tmp_path: Path) -> None:
    code, out, err = ended(tmp_path, "sh", "-c", "echo out; sleep 0.3; echo err >&2; exit 7")
    assert (code, out, err) == (7, "out\n", "err\n")
    assert console(tmp_path) == "out\nerr\n"
    run = RunDir(tmp_path).read_run()
    assert run["exit"] == 7
    assert run["argv"][0] == "sh"
    assert run["started_ns"] < run["ended_ns"]


def test_the_terminal_is_left_to_the_command_when_asked(tmp_path: Path) -> None:
    code, out, err = ended(tmp_path, "sh", "-c", "echo out; echo err >&2", capture=False)
    assert (code, out, err) == (0, "out\n", "err\n")
    assert not RunDir(tmp_path).console.exists()


def test_secrets_of_the_command_are_not_kept(tmp_path: Path) -> None:
    ended(tmp_path, "sh", "-c", "exit 0", "--hf_token", "abcdefgh12345678")
    assert "abcdefgh12345678" not in RunDir(tmp_path).run_json.read_text()


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (("no-such-command-here",), 127),
        (("/dev/null",), 126),
        (("sh", "-c", "kill -9 $$"), 137),
        (("sh", "-c", "kill -15 $$"), 143),
    ],
)
def test_codes_of_a_shell(tmp_path: Path, argv: tuple[str, ...], code: int) -> None:
    assert ended(tmp_path, *argv)[0] == code
    assert RunDir(tmp_path).read_run()["exit"] == code


def test_python_shows_its_output_at_once(tmp_path: Path) -> None:
    process = started(tmp_path, sys.executable, "-c", "import time; print('now'); time.sleep(60)")
    wait_for(lambda: "now" in console(tmp_path))
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 143
    process.communicate()


TRAP = "trap 'echo got $0; exit 5' {}; echo ready; while :; do sleep 0.05; done"


@pytest.mark.parametrize("name", ["INT", "TERM", "USR1", "HUP"])
def test_a_signal_for_the_doctor_reaches_the_command_once(tmp_path: Path, name: str) -> None:
    process = started(tmp_path, "sh", "-c", TRAP.format(name), name)
    wait_for(lambda: "ready\n" in console(tmp_path))
    process.send_signal(getattr(signal, f"SIG{name}"))
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 5
    assert out == f"ready\ngot {name}\n"


#: a thread of the supervisor, as a library may start one, that the kernel gives the signal to
TAKEN_BY_A_THREAD = """
import signal, sys, threading, time
from doctor.run.folder import RunDir
from doctor.run.supervise import supervise
run = RunDir(sys.argv[1])
def take():
    while not run.console.exists() or "ready" not in run.console.read_text(): time.sleep(0.05)
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
    time.sleep(60)
sys.exit(supervise(sys.argv[2:], run, on_start=lambda _pid: threading.Thread(target=take, daemon=True).start()))
"""


def test_a_signal_that_another_thread_gets_reaches_the_command(tmp_path: Path) -> None:
    words = ["sh", "-c", TRAP.format("TERM"), "TERM"]
    done = subprocess.run(
        [sys.executable, "-c", TAKEN_BY_A_THREAD, str(tmp_path), *words], capture_output=True, text=True, timeout=30,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (5, "ready\ngot TERM\n")


#: says each time that it gets the signal, until it is told to end; after a minute nobody will tell it any more
COUNTS = """
import os, signal, time
signal.signal({number}, lambda *_: print('hit', flush=True))
print('ready', flush=True)
end = time.monotonic() + 60
while not os.path.exists({go!r}) and time.monotonic() < end: time.sleep(0.05)
"""


def test_ctrl_c_of_a_terminal_arrives_once(tmp_path: Path) -> None:
    """The terminal interrupts the whole group itself; handing it on as well would end a clean shutdown half-way."""
    code = COUNTS.format(number=2, go=str(tmp_path / "go"))
    leader, follower = os.openpty()
    pid = os.fork()
    if pid == 0:
        _login(follower)
        words = [sys.executable, "-c", SUPERVISE, str(tmp_path), "capture", sys.executable, "-c", code]
        os.execv(sys.executable, words)  # noqa: S606 - in the forked child
    os.close(follower)
    wait_for(lambda: "ready\n" in console(tmp_path))
    os.write(leader, b"\x03")
    wait_for(lambda: "hit" in console(tmp_path))
    time.sleep(0.5)  # what would be handed on comes now
    (tmp_path / "go").touch()
    _, status = os.waitpid(pid, 0)
    os.close(leader)
    assert os.waitstatus_to_exitcode(status) == 0
    assert console(tmp_path) == "ready\nhit\n"


@pytest.mark.parametrize("name", ["INT", "TERM", "USR1"])
def test_a_signal_for_the_whole_group_arrives_once(tmp_path: Path, name: str) -> None:
    """As `timeout` and `scancel` send it; two of them, so that the second one is told from the first as well."""
    code = COUNTS.format(number=f"signal.SIG{name}", go=str(tmp_path / "go"))
    words = [sys.executable, "-c", SUPERVISE, str(tmp_path), "capture", sys.executable, "-c", code]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True)
    wait_for(lambda: "ready\n" in console(tmp_path))
    for hits in (1, 2):
        os.killpg(process.pid, getattr(signal, f"SIG{name}"))
        wait_for(lambda hits=hits: console(tmp_path).count("hit") >= hits)
        time.sleep(0.5)  # what would be handed on comes now
    (tmp_path / "go").touch()
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert out == "ready\nhit\nhit\n"
    with pytest.raises(ProcessLookupError):  # nothing of ours stays behind
        os.killpg(process.pid, 0)


def _login(terminal: int) -> None:
    import fcntl
    import termios

    os.setsid()
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
    for number in range(3):
        os.dup2(terminal, number)


def test_killing_the_doctor_leaves_the_run_unharmed(tmp_path: Path) -> None:
    marker = tmp_path / "finished"
    script = f"echo one; sleep 0.7; echo two; sleep 0.3; echo three >&2; sleep 0.3; touch {marker}"
    process = started(tmp_path, "sh", "-c", script)
    wait_for(lambda: "one" in console(tmp_path))
    process.kill()
    process.communicate()
    wait_for(marker.exists)
    assert console(tmp_path) == "one\ntwo\nthree\n"


def test_a_reader_that_goes_away_does_not_end_the_run(tmp_path: Path) -> None:
    process = started(tmp_path, "sh", "-c", "echo one; sleep 0.5; for k in 1 2 3; do echo $k; sleep 0.2; done; exit 4")
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait(30) == 4
    assert console(tmp_path).endswith("3\n")
    assert process.stderr is not None
    process.stderr.close()


def test_a_run_folder_that_cannot_be_written_costs_only_the_record(tmp_path: Path) -> None:
    (tmp_path / "run.json").mkdir()
    (tmp_path / "logs").write_text("a file where the folder should be")
    code, out, err = ended(tmp_path, "sh", "-c", "echo out; exit 3")
    assert (code, out) == (3, "out\n")
    assert "the console is not kept" in err

"""`doctor monitor` as a user calls it, over the NVML stand-in."""

from __future__ import annotations

import importlib.util
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from doctor.monitors.sampler.prometheus import address
from doctor.run.folder import RunDir, read_rows
from tests.commands import run_doctor
from tests.monitors.conftest import TRUTH, wait_for
from tests.nvml import scenario_env
from tests.ports import free_port

pytestmark = pytest.mark.process

DOCTOR = (sys.executable, "-m", "doctor")
SCENARIO = f"include = h100x8.ini\n[gpu *]\n{TRUTH[0].lines()}\nprocess = pid=4242 bytes=30GiB\n"

TRAIN = """
import os, sys, time, doctor
for step in range(3):
    with doctor.phase("generation", step):
        time.sleep(0.6)
    with doctor.phase("update", step):
        time.sleep(0.6)
end = time.monotonic() + 60
while not os.path.exists("go") and time.monotonic() < end:
    time.sleep(0.05)
print("trained")
sys.exit(7)
"""


def run_of(folder: Path) -> RunDir:
    (path,) = (folder / "doctor-runs").glob("2*")
    return RunDir(path)


def monitor(folder: Path, env: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    return run_doctor("monitor", *words, cwd=folder, only=env)


def started(folder: Path, env: dict[str, str], *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*DOCTOR, "monitor", *words], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(read_rows(path)) if path.exists() else []


def test_during_a_run(folder: Path, tmp_path: Path) -> None:
    env = {**scenario_env(folder, SCENARIO), "RANK": "0"}
    words = ("--during-run", "--gpus", "0,1", "--", sys.executable, "-c", TRAIN)
    with started(tmp_path, env, *words) as process:
        wait_for(lambda: list(tmp_path.glob("doctor-runs/2*")))
        run = run_of(tmp_path)
        wait_for(lambda: any(row["sm_active_pct"] for row in rows_of(run.gpu())) and list(rows_of(run.processes())))
        (tmp_path / "go").touch()
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (7, "trained\n"), err
    assert run.read_run()["exit"] == 7
    rows = list(read_rows(run.gpu()))
    assert {row["gpu"] for row in rows} == {"0", "1"}
    phases = [each for each in run.read_events() if each["kind"] == "phase"]
    assert len(phases) == 12
    assert {each["rank"] for each in phases} == {0}
    roles = {(row["role"], row["rank"]) for row in read_rows(run.processes())}
    assert roles == {("trainer", "0")}


WORKER = """
import time, torch, torch.distributed as dist, doctor
dist.init_process_group("gloo")
for step in range(8):
    with doctor.phase("generation", step):
        time.sleep(0.5)
    with doctor.phase("update", step):
        loss = torch.ones(256, 256, requires_grad=True).square().sum()
        loss.backward()
        dist.all_reduce(loss.detach())
        time.sleep(0.5)
dist.destroy_process_group()
"""


def test_a_long_run_is_not_kept_waiting_for_its_summary(tmp_path: Path) -> None:
    script = (
        "import os, pathlib; gpu = pathlib.Path(os.environ['DOCTOR_RUN_DIR'], 'gpu'); gpu.mkdir(exist_ok=True); "
        "os.truncate(os.open(gpu / 'other.csv', os.O_CREAT | os.O_RDWR), 1 << 40)"  # a hole: nothing lies on the disk
    )
    done = monitor(tmp_path, dict(os.environ), "--during-run", "--", sys.executable, "-c", script)
    assert done.returncode == 0, done.stderr
    assert (
        f"1099.5 GB of figures are not summarized here: doctor report {run_of(tmp_path).path.relative_to(tmp_path)}"
        in (done.stderr)
    )


def test_two_real_ranks_under_torchrun(folder: Path, tmp_path: Path) -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")
    (tmp_path / "train.py").write_text(WORKER)
    env = {**scenario_env(folder, "h100x8"), "OMP_NUM_THREADS": "1"}
    launch = (sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2",
              "--master-port", str(free_port()), "train.py")  # fmt: skip
    done = monitor(tmp_path, env, "--during-run", "--gpus", "0", "--", *launch)
    assert done.returncode == 0, done.stderr
    run = run_of(tmp_path)
    roles = {(row["role"], row["rank"]) for row in read_rows(run.processes())}
    assert {("launcher", ""), ("trainer", "0"), ("trainer", "1")} <= roles
    marks = [each for each in run.read_events() if each["kind"] == "phase"]
    assert {(each["rank"], each["data"]["name"]) for each in marks} == {
        (rank, name) for rank in (0, 1) for name in ("generation", "update")
    }
    assert any(row["memory_used_mib"] for row in read_rows(run.gpu()))


def test_codes_of_the_command_are_kept_whatever_happens_to_the_folder(tmp_path: Path) -> None:
    (tmp_path / "doctor-runs").write_text("a file where the folder should be")
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    done = monitor(tmp_path, env, "--during-run", "--", "sh", "-c", "echo out; exit 9")
    assert (done.returncode, done.stdout) == (9, "out\n")
    assert "runs without the doctor" in done.stderr


def test_without_a_gpu_one_line_says_so(tmp_path: Path) -> None:
    with started(tmp_path, dict(os.environ)) as process:
        wait_for(lambda: list(tmp_path.glob("doctor-runs/2*")))
        host = run_of(tmp_path).host()
        wait_for(lambda: len(rows := rows_of(host)) > 1 and rows[-1]["gpu_sampling"] == "absent")
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert err.count("no NVIDIA driver") == 1


def test_it_ends_after_the_time_that_was_asked_for(tmp_path: Path) -> None:
    assert monitor(tmp_path, dict(os.environ), "--for", "1s").returncode == 0
    assert rows_of(run_of(tmp_path).host())


def test_attached_to_a_process_it_ends_with_it(folder: Path, tmp_path: Path) -> None:
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    csv = tmp_path / "mine.csv"
    with started(tmp_path, scenario_env(folder, SCENARIO), "--pid", str(other.pid), "--csv", str(csv)) as process:
        wait_for(lambda: {row["gpu"] for row in rows_of(csv)} == {str(number) for number in range(8)})
        assert process.poll() is None
        other.communicate(b"\n")
        _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert not run_of(tmp_path).gpu().exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--during-run",), "needs the command"),
        (("sleep", "1"), "--during-run -- COMMAND"),
        (("--interval", "10ms"), "between 50ms and 60s"),
        (("--interval", "often"), "not a duration"),
        (("--gpus", "all"), "indices with commas"),
        (("--pid", "4194304"), "no process 4194304"),
        (("--prometheus", "nowhere"), "names no port"),
        (("--for", "5s", "--during-run", "--", "true"), "ends with its command"),
    ],
)
def test_mistakes_are_told(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    done = monitor(tmp_path, dict(os.environ), *words)
    assert done.returncode == 2
    assert said in done.stderr


def test_addresses() -> None:
    assert address("9400") == address(":9400") == ("127.0.0.1", 9400)
    assert address("0.0.0.0:80") == ("0.0.0.0", 80)
    assert address("[::1]:9400") == ("::1", 9400)


def test_the_page_for_prometheus(folder: Path, tmp_path: Path) -> None:
    parser = pytest.importorskip("prometheus_client.parser", reason="prometheus_client is not installed")
    process = subprocess.Popen(
        [*DOCTOR, "monitor", "--for", "60s", "--prometheus", "127.0.0.1:0"], cwd=tmp_path, text=True,
        env=scenario_env(folder, SCENARIO), stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stderr is not None
    url = next(found[0] for line in process.stderr if (found := re.findall(r"http://\S+", line)))
    text = ""

    def full() -> bool:
        nonlocal text
        text = urllib.request.urlopen(url, timeout=10).read().decode()  # noqa: S310 - our own page
        return text.count("DCGM_FI_PROF_SM_ACTIVE{") == 8

    wait_for(full)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    assert process.returncode == 0
    families = {family.name: family for family in parser.text_string_to_metric_families(text)}
    active = {sample.labels["gpu"]: sample.value for sample in families["DCGM_FI_PROF_SM_ACTIVE"].samples}
    assert len(active) == 8
    assert all(0 <= value <= 1 for value in active.values())
    assert families["DCGM_FI_DEV_FB_USED"].samples[0].labels["UUID"].startswith("GPU-")
    assert families["DCGM_FI_DEV_POWER_USAGE"].samples[0].value >= 90


def test_the_live_table_quits_on_q(folder: Path, tmp_path: Path) -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        env = {**scenario_env(folder, SCENARIO), "TERM": "xterm", "COLUMNS": "120", "LINES": "60"}
        os.execve(sys.executable, [*DOCTOR, "monitor"], env)  # noqa: S606 - in the forked child
    seen, quit_at, end = "", None, time.monotonic() + 60
    while time.monotonic() < end:
        ready, _, _ = select.select([terminal], [], [], 0.2)
        try:
            seen += os.read(terminal, 1 << 16).decode("utf-8", "replace") if ready else ""
        except OSError:
            break  # it has ended
        if quit_at is None and "DRAM %" in seen and "4242" in seen and "245,760" in seen:
            os.write(terminal, b"q")
            quit_at = time.monotonic()
    if quit_at is None:
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    assert quit_at is not None, seen[-3000:]
    assert os.waitstatus_to_exitcode(status) == 0
    assert "q quits" in seen

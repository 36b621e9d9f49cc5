"""Who is who among real processes, by environment, command line and ancestors."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from doctor.monitors.sampler.host_reader import HostReader, ProcessReader, Rates
from doctor.monitors.sampler.processes import holds_a_gpu, identify, identity, lone_trainer, tree
from tests.monitors.conftest import wait_for

WAIT = "import sys; print('ready', flush=True); sys.stdin.read()"
FORK = (
    "import os, sys\npid = os.fork()\n"
    "if pid: print(pid, flush=True); sys.stdin.read(); os.kill(pid, 9); os.wait()\nelse: sys.stdin.read()"
)
TITLED = (
    "import subprocess, sys\n"
    "child = subprocess.Popen([sys.argv[1], '-c', 'import time; time.sleep(60)'], executable=sys.executable, env={})\n"
    "print(child.pid, flush=True); sys.stdin.read(); child.kill(); child.wait()"
)


class Started:
    def __init__(self) -> None:
        self.all: list[subprocess.Popen[str]] = []

    def __call__(self, *argv: str, name: str | None = None, rank: int | None = None) -> tuple[int, str]:
        env = {key: value for key, value in os.environ.items() if key != "RANK"}
        env |= {} if rank is None else {"RANK": str(rank)}
        process = subprocess.Popen(
            [name or sys.executable, *argv], executable=sys.executable, env=env, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.all.append(process)
        assert process.stdout is not None
        return process.pid, process.stdout.readline().strip()


@pytest.fixture
def start() -> Iterator[Started]:
    started = Started()
    yield started
    for process in started.all:
        process.communicate("", timeout=20)


@pytest.mark.process
def test_a_process_with_a_rank_is_a_trainer_and_its_fork_a_loader(start: Started) -> None:
    pid, child = start("-c", FORK, rank=3)
    trainer, loader = identity(pid), identity(int(child))
    assert (trainer.role, trainer.rank, trainer.parent) == ("trainer", 3, os.getpid())
    assert (loader.role, loader.rank, loader.parent) == ("loader", 3, pid)
    assert {pid, int(child)} <= set(tree(os.getpid()))


@pytest.mark.process
@pytest.mark.parametrize(
    ("name", "role"),
    [("VLLM::EngineCore", "vllm_engine"), ("VLLM::Worker_TP1", "vllm_worker"), ("ray::WorkerDict.train", "ray_worker")],
)
def test_titles(start: Started, name: str, role: str) -> None:
    _, child = start("-c", TITLED, name, rank=1)
    wait_for(lambda: identity(int(child)).role == role)
    # the title has overwritten its environment: the engine's rank is its ancestor's
    assert identity(int(child)).rank == (None if role == "ray_worker" else 1)


@pytest.mark.parametrize(
    ("words", "role"),
    [
        (("/opt/venv/bin/vllm", "serve", "Qwen/Qwen3-8B"), "vllm_server"),
        (("-m", "vllm.entrypoints.openai.api_server"), "vllm_server"),
        (("/opt/venv/bin/trl", "vllm-serve", "--model", "x"), "vllm_server"),
        (("/opt/venv/bin/torchrun", "--nproc-per-node", "2", "train.py"), "launcher"),
        (("/opt/venv/bin/accelerate", "launch", "train.py"), "launcher"),
        (("-m", "torch.distributed.run", "train.py"), "launcher"),
        (("prepare.py", "--output", "deepspeed-data"), "other"),
    ],
)
def test_command_lines(tmp_path: Path, words: tuple[str, ...], role: str) -> None:
    folder = tmp_path / "77"
    folder.mkdir()
    (folder / "stat").write_text("77 (python (3.11)) S 1 77 77 0 -1")
    (folder / "cmdline").write_text("\0".join(("/usr/bin/python3", *words)) + "\0")
    (folder / "environ").write_text("HOME=/root\0")
    who = identity(77, tmp_path)
    assert (who.name, who.role, who.rank, who.parent) == ("python (3.11)", role, None, 1)


@pytest.mark.process
def test_a_process_that_cannot_be_seen_has_no_name() -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    assert identify(gone.pid) == identity(gone.pid)
    assert identity(gone.pid).role is None


@pytest.mark.process
def test_cpu_of_a_busy_process_is_seen() -> None:
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    reader, began = ProcessReader(), time.monotonic()
    first = reader.read(busy.pid, began)
    time.sleep(1.0)
    at = time.monotonic()
    second = reader.read(busy.pid, at)
    most = 110 * (time.monotonic() - began) / (at - began)  # this process may be kept from reading what it timed
    busy.kill()
    busy.wait()
    assert first is not None
    assert first["cpu_pct"] is None
    assert second is not None
    assert 2 < second["cpu_pct"] <= most
    assert reader.read(busy.pid, time.monotonic()) is None


def test_a_counter_that_was_set_back_has_no_rate() -> None:
    rates = Rates()
    assert [rates.rate("x", value, at) for value, at in ((5, 0), (9, 2), (1, 3), (4, 4))] == [None, 2, None, 3]


def test_a_row_that_comes_a_moment_after_another_has_the_rate_since_the_one_before_that() -> None:
    rates = Rates()
    told = [rates.rate("x", value, at) for value, at in ((0, 0), (10, 1), (10, 1.01), (10, 1.02), (14, 2.02), (30, 3))]
    assert told[:4] == [None, 10, pytest.approx(10 / 1.01), pytest.approx(10 / 1.02)]
    assert told[4:] == [pytest.approx(4 / 1.02), pytest.approx(16 / 0.98)]


def test_two_rows_of_the_host_within_one_tick_of_the_kernel_both_say_how_busy_it_was(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    stat, reader, told = tmp_path / "proc/stat", HostReader(tmp_path, tmp_path), []
    for at, user, idle in ((10.0, 100, 1000), (11.0, 150, 1150), (11.005, 150, 1150), (12.0, 150, 1350)):
        stat.write_text(f"cpu  {user} 0 0 {idle} 0 0 0 0 0 0\ncpu0 1 0 0 1 0 0 0 0 0 0\ncpu1 1 0 0 1 0 0 0 0 0 0\n")
        told.append(reader.read(at)["cpu_pct"])
    assert told == [None, 25.0, 25.0, 0.0]


def test_the_host_without_proc_tells_nothing(tmp_path: Path) -> None:
    row = HostReader(tmp_path, tmp_path / "nowhere").read(1.0)
    assert row["load1"] is None
    assert "memory_used_mib" not in row


@pytest.mark.process
def test_a_process_that_has_ended_is_none_though_nobody_has_fetched_it() -> None:
    process = subprocess.Popen([sys.executable, "-c", "pass"])
    wait_for(lambda: Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z")
    assert ProcessReader().read(process.pid, 1.0) is None
    process.wait()


@pytest.mark.process
def test_the_only_python_of_a_run_is_its_trainer_where_no_launcher_gave_out_ranks(start: Started) -> None:
    alone, _ = start("-c", WAIT)
    assert lone_trainer(alone) == alone
    assert not holds_a_gpu(alone)
    for children in (1, 2):
        script = "\n".join([f"'{sys.executable}' -c 'import time; time.sleep(60)' &"] * children)
        shell = subprocess.Popen(["sh", "-c", f"{script}\nwait"], start_new_session=True)
        wait_for(lambda shell=shell, children=children: len(tree(shell.pid)) == children + 1)
        wait_for(lambda shell=shell, children=children: (lone_trainer(shell.pid) is not None) == (children == 1))
        os.killpg(shell.pid, 9)
        shell.wait()


def test_whose_card_is_open(tmp_path: Path) -> None:
    folder = tmp_path / "7" / "fd"
    folder.mkdir(parents=True)
    (folder / "3").symlink_to("/dev/nvidiactl")
    assert not holds_a_gpu(7, tmp_path)
    (folder / "4").symlink_to("/dev/nvidia1")
    assert holds_a_gpu(7, tmp_path)

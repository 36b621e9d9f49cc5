"""Orphans among real processes: proved, shown, ended; nobody else's."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from doctor.catalogue.plan import Refused
from doctor.mend.processes import ending, orphans, table
from doctor.mend.processes.orphans import Orphan
from tests.e2e.environments import run_doctor
from tests.fixes.trees import Started, alive, until

pytestmark = [
    pytest.mark.skipif(
        (first := table.read(1)) is not None and orphans._is(first, orphans._PYTHON),
        reason="process 1 is a Python here: whose child an orphan is cannot be told",
    ),
    pytest.mark.process,
]

#: starts a child by multiprocessing and dies; prints the child's id
DYING_PARENT = """
import multiprocessing, os, signal, sys, time

def child(path, deaf):
    if deaf:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    held = open(path, "w")
    held.write("ready")
    held.flush()
    while True:
        time.sleep(0.1)

if __name__ == "__main__":
    one = multiprocessing.get_context("spawn").Process(target=child, args=(sys.argv[1], sys.argv[2] == "deaf"))
    one.start()
    while not (os.path.exists(sys.argv[1]) and os.path.getsize(sys.argv[1])):
        time.sleep(0.02)
    print(one.pid, flush=True)
    if sys.argv[3] == "dies":
        os._exit(1)
    time.sleep(300)
"""


@pytest.fixture
def started() -> Iterator[Started]:
    every = Started()
    yield every
    every.end()


def worker(tmp_path: Path, started: Started, deaf: str = "hears", parent: str = "dies", **env: str) -> int:
    """A multiprocessing child that holds `nvidia0` open."""
    script = tmp_path / "train grpo.py"
    script.write_text(textwrap.dedent(DYING_PARENT))
    device = tmp_path / "nvidia0"
    device.unlink(missing_ok=True)
    argv = [sys.executable, str(script), str(device), deaf, parent]
    launcher = started.child(argv, env={**os.environ, **env})
    assert launcher.stdout is not None
    pid = started.other(int(launcher.stdout.readline()))
    if parent == "dies":
        launcher.wait(30)
    return pid


def found(tmp_path: Path, **options: bool) -> dict[int, Orphan]:
    files = partial(table.gpu_files, device=str(tmp_path / "nvidia"))
    every = orphans.find(table.everybody(), uid=os.getuid(), gpu_bytes=None, gpu_files_of=files, **options)
    return {each.process.pid: each for each in every}


def test_a_child_of_a_dead_parent_is_one(tmp_path: Path, started: Started) -> None:
    pid = worker(tmp_path, started)
    orphan = found(tmp_path)[pid]
    assert orphan.kind == "multiprocessing"
    assert orphan.gpus == (str(tmp_path / "nvidia0"),)
    assert dict(orphan.proof)["parent"]["parent"] == f"{(Path('/proc') / '1' / 'comm').read_text().strip()} (1)"
    assert "age" in dict(orphan.proof)


def test_a_child_of_a_living_parent_is_none(tmp_path: Path, started: Started) -> None:
    pid = worker(tmp_path, started, parent="lives")
    assert pid not in found(tmp_path, without_gpu=True)


def test_without_a_gpu_only_on_request(tmp_path: Path, started: Started) -> None:
    pid = worker(tmp_path, started)
    files = partial(table.gpu_files, device="/dev/nvidia")
    assert pid not in {
        each.process.pid
        for each in orphans.find(table.everybody(), uid=os.getuid(), gpu_bytes=None, gpu_files_of=files)
    }
    by_nvml = orphans.find(table.everybody(), uid=os.getuid(), gpu_bytes={pid: 3 << 30}, gpu_files_of=files)
    assert [(each.process.pid, each.gpu_bytes) for each in by_nvml] == [(pid, 3 << 30)]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to start another user's process")
def test_another_users_is_never_shown_nor_ended(tmp_path: Path, started: Started) -> None:
    program = (
        "import os, time; os.setuid(65534); print(flush=True); time.sleep(300)  # from multiprocessing.spawn import "
    )
    theirs = started.child([sys.executable, "-c", program])
    assert theirs.stdout is not None
    theirs.stdout.readline()
    process = table.read(theirs.pid)
    assert process is not None
    assert process.uid == 65534
    assert theirs.pid not in found(tmp_path, without_gpu=True)
    with pytest.raises(Refused, match="another user"):
        ending.end([process], grace_s=0.1)
    assert alive(theirs.pid)


@pytest.mark.parametrize(
    ("title", "environ", "kind"),
    [
        ("VLLM::EngineCore", {}, "vllm"),
        ("ray::GRPOWorker.step", {}, "ray"),
        ("python", {"TORCHELASTIC_RUN_ID": "none", "LOCAL_RANK": "0"}, "torchrun"),
        ("vllm serve", {"TORCHELASTIC_RUN_ID": "none"}, None),
        ("python", {"LOCAL_RANK": "0"}, None),
    ],
)
def test_whose_worker_it_is(
    tmp_path: Path, started: Started, title: str, environ: dict[str, str], kind: str | None
) -> None:
    shell = f'exec -a "{title}" sleep 300 >/dev/null 2>&1 & echo $!'
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("TORCHELASTIC", "LOCAL_RANK"))}
    pid = started.other(_detached(shell, {**clean, **environ}))
    until(lambda: (Path("/proc") / str(pid) / "cmdline").read_bytes().startswith(title.encode() + b"\0"))
    seen = found(tmp_path, without_gpu=True)
    assert (seen[pid].kind if pid in seen else None) == kind


def _detached(shell: str, env: dict[str, str]) -> int:
    """Id of what a shell started in the background before it ended."""
    line = subprocess.run(["bash", "-c", shell], env=env, capture_output=True, text=True, timeout=30, check=True).stdout
    return int(line)


def test_the_end_of_its_run_is_proof(tmp_path: Path, started: Started) -> None:
    run = tmp_path / "doctor-runs" / "one"
    run.mkdir(parents=True)
    (run / "run.json").write_text('{"schema": "doctor-run/1", "ended_ns": 1}')
    pid = worker(tmp_path, started, DOCTOR_RUN_DIR=str(run))
    assert dict(found(tmp_path)[pid].proof)["run"]["folder"] == str(run)
    (run / "run.json").write_text('{"schema": "doctor-run/1"}')
    assert "run" not in dict(found(tmp_path)[pid].proof)


def test_shown_ended_on_consent_and_asked_first(tmp_path: Path, started: Started) -> None:
    # always with ids: whoever runs this may have orphans of their own
    hearing, deaf = worker(tmp_path, started), worker(tmp_path, started, deaf="deaf")
    ids = (str(hearing), str(deaf))
    shown = run_doctor("fix", "orphans", "--all", *ids, cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert f"{hearing}  multiprocessing child" in shown.stdout
    assert "Nothing is ended yet" in shown.stdout
    assert "GPU memory is not counted" in shown.stdout
    unasked = run_doctor("fix", "orphans", "--all", "--apply", *ids, cwd=tmp_path)
    assert unasked.returncode == 2
    assert alive(hearing)
    assert alive(deaf)
    one = run_doctor("fix", "orphans", "--all", "--apply", "--yes", str(hearing), cwd=tmp_path)
    assert one.returncode == 0, one.stdout + one.stderr
    assert f"{hearing}: ended when asked" in one.stdout
    assert not alive(hearing)
    assert alive(deaf)
    rest = run_doctor("fix", "orphans", "--all", "--apply", "--yes", "--grace", "1", str(deaf), cwd=tmp_path)
    assert f"{deaf}: had to be killed (SIGKILL): {deaf}." in rest.stdout
    assert not alive(deaf)


def test_what_is_no_orphan_is_not_ended_by_its_id(tmp_path: Path, started: Started) -> None:
    pid = worker(tmp_path, started, parent="lives")
    done = run_doctor("fix", "orphans", "--all", "--apply", "--yes", str(pid), cwd=tmp_path)
    assert done.returncode == 2
    assert "no orphan of yours" in done.stderr
    assert alive(pid)


@pytest.mark.parametrize("pidfd", [True, False])
def test_an_id_that_is_anothers_by_now_is_not_signalled(
    started: Started, monkeypatch: pytest.MonkeyPatch, pidfd: bool
) -> None:
    if not pidfd:
        monkeypatch.delattr(os, "pidfd_open", raising=False)
    child = started.child(["sleep", "300"])
    now = table.read(child.pid)
    assert now is not None
    before = table.RunningProcess(**{**now.__dict__, "start": now.start - 1})
    done = ending.end([before], grace_s=0.1)
    assert done == ending.Ended((), (), ())
    assert child.poll() is None
    handle = ending.Handle(now)
    handle.send(signal.SIGTERM)
    assert child.wait(10) == -signal.SIGTERM
    handle.send(signal.SIGKILL)  # gone: nothing happens
    handle.close()

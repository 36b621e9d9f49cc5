"""`doctor fix hang` on real torchrun: the agent is asked, ends its ranks itself, and starts none again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from doctor.mend.processes import table
from tests.e2e.environments import run_doctor
from tests.fixes.trees import Started, alive, until

pytestmark = pytest.mark.process

#: rank 1 waits for ever, rank 0 waits for it in a collective
STUCK = """
import os, sys, time
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
open(f"{sys.argv[1]}/started-{rank}-{os.getpid()}", "w").close()

def wait_for_ever():
    while True:
        time.sleep(60)

if rank == 1:
    wait_for_ever()
dist.all_reduce(torch.ones(1))
"""


@pytest.fixture
def started() -> Iterator[Started]:
    every = Started()
    yield every
    every.end()


def test_torchrun_ends_its_ranks_when_it_is_asked(tmp_path: Path, python: Path, started: Started) -> None:
    (tmp_path / "stuck.py").write_text(STUCK)
    argv = [
        str(python), "-m", "torch.distributed.run", "--nproc_per_node", "2", "--master_port", "0",
        "--rdzv_backend", "c10d", "--rdzv_endpoint", "localhost:0", "--max_restarts", "3",
        str(tmp_path / "stuck.py"), str(tmp_path),
    ]  # fmt: skip
    with (tmp_path / "log").open("wb") as log:
        launcher = started.child(argv, stderr=log, env={**os.environ, "OMP_NUM_THREADS": "1"})
    until(lambda: len(list(tmp_path.glob("started-*"))) == 2, 120)
    ranks = [int(each.name.rpartition("-")[2]) for each in tmp_path.glob("started-*")]
    for each in ranks:
        started.other(each)
    done = run_doctor("fix", "hang", "--pid", str(ranks[0]), "-o", "rank.txt", cwd=tmp_path)
    assert f"Its launcher is process {launcher.pid}" in done.stdout
    done = run_doctor("fix", "hang", "--pid", str(launcher.pid), "-o", "all.txt", "--apply", "--yes", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 killed" in done.stdout
    assert "SIGTERM to all" not in done.stdout  # the agent did it
    assert not any(map(alive, [launcher.pid, *ranks]))
    assert len(list(tmp_path.glob("started-*"))) == 2
    text = (tmp_path / "all.txt").read_text()
    assert all(f"=== process {each} " in text for each in (launcher.pid, *ranks))
    if "no Python stacks" not in text:
        assert "wait_for_ever" in text
        assert "all_reduce" in text
    assert table.read(launcher.pid) is None or launcher.poll() is not None

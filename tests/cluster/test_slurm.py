"""The commands of docs/cluster.md under a real Slurm, and under pdsh."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from doctor.catalogue.nodes.measured import Measured
from doctor.cluster.gathered import read
from tests.cluster.slurms import Slurm, slurm_cluster

pytestmark = pytest.mark.process

_GUIDE = Path(__file__).parents[2] / "docs" / "cluster.md"
_NAMES = ("node1", "node2", "node3", "node4")
#: asked for by name: a node that still cleans up after the test before is waited for, not replaced by another
_FIRST_TWO = ("-N2", "--nodelist=node1,node2")
#: as sites do it: one node of the four sets a variable for all tasks
_PROLOG = '[ "$SLURMD_NODENAME" != node3 ] || echo export NCCL_IB_DISABLE=1'


@pytest.fixture(scope="module")
def slurm() -> Iterator[Slurm]:
    with slurm_cluster(_NAMES, _PROLOG) as cluster:
        yield cluster


def _judged(folder: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "doctor", "check", "--from", str(folder), "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    report: dict[str, Any] = json.loads(done.stdout)
    assert not report["crashed"]
    return report


def _nodes_of(report: dict[str, Any], problem: str) -> str | None:
    return next((each["nodes"]["names"] for each in report["findings"] if each["id"] == problem), None)


def test_the_guides_batch_script_judges_all_nodes_and_stops_the_job(slurm: Slurm, tmp_path: Path) -> None:
    """As it stands in the guide: the first node's name does not resolve here, so the training is not started."""
    (script,) = re.findall(r"^### Slurm\n\n```\n(.*?)```", _GUIDE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    (tmp_path / "job.sh").write_text(script)
    (tmp_path / "train_grpo.py").write_text("open('started', 'w')\n")
    done = slurm.run("sbatch", "--wait", "--output=told.txt", "job.sh", cwd=tmp_path)
    told = (tmp_path / "told.txt").read_text("utf-8")
    assert done.returncode == 1, (done, told)
    assert not (tmp_path / "started").exists()
    assert re.search(r"LCH011 master-unresolved +node\[1-4\]", told), told
    assert re.search(r"LCH0780/nccl_variables \S+ +node3", told), told
    unfolded = " ".join(told.split())  # where a line breaks hangs on the width, not on what is said
    assert "NCCL variables on node3 differ from those on 3 other nodes: NCCL_IB_DISABLE 1 ≠ none" in unfolded, told
    assert "LCH026" not in told, told
    (facts,) = tmp_path.glob("facts-*")
    assert len(list(facts.glob("*.json"))) == 4


def test_a_node_whose_task_fails_is_told_as_absent(slurm: Slurm, tmp_path: Path) -> None:
    task = f'[ $SLURM_NODEID = 2 ] && exit 1; exec "{sys.executable}" -m doctor check --collect facts'
    done = slurm.run("srun", "-N4", "--ntasks-per-node=1", "sh", "-c", task, cwd=tmp_path)
    assert done.returncode == 1, done
    report = _judged(tmp_path / "facts")
    assert report["nodes"]["engine"] == "slurm"
    assert (report["nodes"]["asked"], report["nodes"]["heard"]) == (4, 3)
    assert _nodes_of(report, "LCH026") == "node3"


def test_of_several_tasks_on_a_node_one_writes(slurm: Slurm, tmp_path: Path) -> None:
    done = slurm.run(
        "srun", *_FIRST_TWO, "--ntasks-per-node=2", sys.executable, "-m", "doctor", "check", "--collect", "facts",
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done
    assert done.stderr.count("nothing written: this is process 1 of its node") == 2
    assert [path.name.split("-")[0] for path in sorted((tmp_path / "facts").glob("*.json"))] == ["node1", "node2"]


def test_monitor_samples_once_on_each_node(slurm: Slurm, tmp_path: Path) -> None:
    done = slurm.run(
        "srun", *_FIRST_TWO, "--ntasks-per-node=2", sys.executable, "-m", "doctor", "monitor", "--collect", "run",
        "--during-run", "--", "sh", "-c", "sleep 3; exit $SLURM_PROCID", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 3, done  # the highest of its tasks', as srun has it
    assert sorted(path.name for path in (tmp_path / "run" / "host").glob("node?.csv")) == ["node1.csv", "node2.csv"]
    assert json.loads((tmp_path / "run" / "run.json").read_text())["exit"] == 0  # of rank 0


@pytest.mark.slow
def test_nodes_measure_each_other_under_srun(slurm: Slurm, tmp_path: Path) -> None:
    done = slurm.run(
        "srun", "-N3", "--ntasks-per-node=1", sys.executable, "-m", "doctor", "check", "--collect", "facts", "--deep",
        "--deep-seconds", "15", cwd=tmp_path, timeout_s=400,
    )  # fmt: skip
    assert done.returncode == 0, done
    assert "--deep measures 3 nodes" in done.stderr
    measured = Measured(read([tmp_path / "facts"]).cluster)
    assert measured.nodes == 3
    assert {(each.node_a, each.node_b) for each in measured.exchanges(inside=False)} == {(0, 1), (0, 2), (1, 2)}
    assert [each.outcome for _, each in measured.processes()] == ["ok"] * 3


def test_pdsh_starts_it_on_every_host(tmp_path: Path) -> None:
    """`-R exec` instead of ssh: each host is a UTS name space with its name."""
    if shutil.which("pdsh") is None or shutil.which("unshare") is None or os.geteuid() != 0:
        pytest.skip("needs pdsh, unshare and root")
    command = f"hostname %h && exec '{sys.executable}' -m doctor check --collect '{tmp_path}/facts'"
    started = ["pdsh", "-S", "-R", "exec", "-w", "node[01-03]", "unshare", "--uts", "sh", "-c", command]
    done = subprocess.run(started, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done
    report = _judged(tmp_path / "facts")
    assert report["nodes"]["groups"] == [{"label": "A", "count": 3, "names": "node[01-03]"}]

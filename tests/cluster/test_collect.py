"""Facts files of many nodes in one folder: written by each, read together, and who is missing."""

from __future__ import annotations

import json
import re
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from doctor.base.evidence import Observed
from doctor.cluster import collect as collecting
from doctor.cluster.clocks import against_folder
from doctor.cluster.gathered import MANIFEST, read, write_manifest
from doctor.cluster.hostlist import expanded
from doctor.diagnosis.schema import FACTS
from doctor.facts.environment import Environment
from doctor.facts.node import Node
from doctor.readers.machine.mounts import MountPoint
from doctor.readers.saved import NotFacts, as_json, write
from tests.commands import run_doctor

_HOUR_NS = 3_600_000_000_000
_SLURM = Node(boot_id="b1", launcher="slurm", rank=0, nodes=3, node_names="n[1-3]", job="7")


def _put(folder: Path, host: str, node: Node | None = None, *, age_ns: int = 0, **head: Any) -> Path:
    """A facts file as a node writes it."""
    states = {"environment": Observed.seen(Environment({"NCCL_DEBUG": "INFO"}))}
    if node is not None:
        states["node"] = Observed.seen(node)
    path = folder / f"{host}-{node.boot_id if node else 'x'}-{node.rank if node else ''}{node.job if node else ''}.json"
    write({**as_json(states), "host": host, "captured_ns": time.time_ns() - age_ns, **head}, path)
    return path


def _doctor(*words: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return run_doctor(*words, cwd=cwd, env=variables)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n1", ("n1",)),
        ("n[1-3]", ("n1", "n2", "n3")),
        ("gpu[08-10,12],login", ("gpu08", "gpu09", "gpu10", "gpu12", "login")),
        ("r[1-2]c[1,3]-ib", ("r1c1-ib", "r1c3-ib", "r2c1-ib", "r2c3-ib")),
        ("", ()),
        ("n[1-]", ()),
        ("n[1-99999999999]", ()),
        ("n[[1]", ()),
    ],
)
def test_slurms_list_of_hosts_is_expanded(text: str, names: tuple[str, ...]) -> None:
    assert expanded(text) == names


def test_nodes_write_side_by_side_and_are_read_together(tmp_path: Path) -> None:
    folder = tmp_path / "shared" / "facts"
    for rank in ("1", "0"):
        place = {"SLURM_JOB_ID": "7", "SLURM_NODEID": rank, "SLURM_JOB_NUM_NODES": "2"}
        done = _doctor("check", "--collect", str(folder), "--", "torchrun", "train.py", cwd=tmp_path, **place)
        assert done.returncode == 0, done.stderr
        assert f"doctor check --from {folder}" in done.stderr
    again = _doctor("check", "--collect", str(folder), cwd=tmp_path, **place)  # the same node: its file is replaced
    assert again.returncode == 0
    gathered = read([folder])
    assert not gathered.notes
    assert [node.rank for node in gathered.cluster.nodes] == [0, 1]
    assert (gathered.cluster.engine, gathered.cluster.expected) == ("slurm", 2)
    assert len({node.name for node in gathered.cluster.nodes}) == 2
    assert gathered.cluster.nodes[1].value("launch").kind == "torchrun"
    assert not [each for each in folder.iterdir() if each.suffix != ".json"]
    for each in folder.iterdir():
        jsonschema.validate(json.loads(each.read_text()), FACTS)
    judged = _doctor("check", "--from", str(folder), "--format", "json", cwd=tmp_path)
    report = json.loads(judged.stdout)
    assert not report["crashed"]
    assert "nodes" in report


def test_one_process_of_a_node_writes_and_a_wrong_folder_is_an_error_of_use(tmp_path: Path) -> None:
    done = _doctor("check", "--collect", str(tmp_path / "facts"), cwd=tmp_path, LOCAL_RANK="3")
    assert (done.returncode, "process 3" in done.stderr) == (0, True)
    assert not (tmp_path / "facts").exists()
    (tmp_path / "file").write_text("")
    done = _doctor("check", "--collect", str(tmp_path / "file" / "facts"), cwd=tmp_path)
    assert done.returncode == 2
    assert re.search(r"cannot write `.*facts`: Not a directory", done.stderr)
    done = _doctor("check", "--collect", str(tmp_path), "--from", str(tmp_path), cwd=tmp_path)
    assert (done.returncode, "cannot be combined" in done.stderr) == (2, True)


def test_hosts_of_one_name_are_two_nodes(tmp_path: Path) -> None:
    _put(tmp_path, "trainer", Node(boot_id="b1"))
    _put(tmp_path, "trainer", Node(boot_id="b2"))
    assert [node.name for node in read([tmp_path]).cluster.nodes] == ["trainer", "trainer-2"]
    names = {
        collecting.file_name({"node": Observed.seen(Node(boot_id=boot, rank=rank))})
        for boot in ("b1", "b2")
        for rank in (None, 0, 1)
    }
    assert len(names) == 6


def test_who_left_no_file_is_missing_by_slurms_names(tmp_path: Path) -> None:
    _put(tmp_path, "n1.cluster.local", _SLURM)
    _put(tmp_path, "n3", replace(_SLURM, rank=2, boot_id="b3"))
    cluster = read([tmp_path]).cluster
    assert cluster.expected == 3
    assert [(node.name, node.state) for node in cluster.nodes if node.state != "ok"] == [("n2", "missing")]


@pytest.mark.parametrize(
    ("node", "missing"),
    [
        (Node(boot_id="b", launcher="torchrun", rank=1, nodes=3), ["rank0", "rank2"]),
        (Node(boot_id="b", launcher="mpi", nodes=2), ["unknown 1"]),
        (Node(boot_id="b", launcher="slurm", rank=0, nodes=2, node_names="other[1-2]"), ["rank1"]),
        (Node(boot_id="b", launcher="torchrun", rank=0, nodes=1), []),
        (Node(boot_id="b"), []),
        (None, []),
    ],
)
def test_who_left_no_file_is_missing_by_rank_or_number(tmp_path: Path, node: Node | None, missing: list[str]) -> None:
    _put(tmp_path, "n1", node)
    assert [each.name for each in read([tmp_path]).cluster.nodes if each.state == "missing"] == missing


def test_broken_foreign_and_old_files_are_told_and_the_rest_is_judged(tmp_path: Path) -> None:
    _put(tmp_path, "n1", Node(boot_id="b1"))
    old = _put(tmp_path, "n2", Node(boot_id="b2"), age_ns=3 * _HOUR_NS)
    earlier = _put(tmp_path, "n1", Node(boot_id="b1", job="6"), age_ns=_HOUR_NS // 10)
    (tmp_path / "torn.json").write_text('{"schema": "doctor-facts/1", "fac')
    (tmp_path / "other.json").write_text('{"schema": "doctor-facts/9", "facts": {}}')
    (tmp_path / "list.json").write_text("[1, 2]")
    gathered = read([tmp_path])
    assert [node.name for node in gathered.cluster.nodes] == ["n1"]
    told = "\n".join(gathered.notes)
    assert f"`{old}` is 3.0 h older" in told
    assert f"`{earlier}` is of an earlier job" in told
    assert all(each in told for each in ("torn.json", "doctor-facts/9", "list.json"))
    done = _doctor("check", "--from", str(tmp_path), cwd=tmp_path)
    assert done.returncode in {0, 1}
    assert "warning: " in done.stderr
    (tmp_path / "empty").mkdir()
    with pytest.raises(NotFacts, match="holds no facts file"):
        read([tmp_path / "empty"])


def test_the_manifest_names_nodes_without_an_answer(tmp_path: Path) -> None:
    path = _put(tmp_path, "head", Node(boot_id="b1"))
    stray = _put(tmp_path, "gone", Node(boot_id="b2"))
    row = {"engine_id": "a1", "address": "10.0.0.1", "resources": {"GPU": 8.0}}
    told = {"clock_offset_s": 0.5, "clock_error_s": 0.001, "seconds": 1.5}
    write_manifest(tmp_path, "ray", [
        {"file": path.name, "name": "head", "state": "ok", "reason": "", **row, **told},
        {"file": None, "name": "w1", "state": "died", "reason": "killed", **row, "engine_id": "a2"},
    ])  # fmt: skip
    gathered = read([tmp_path])
    head, lost = gathered.cluster.nodes
    assert (gathered.cluster.engine, gathered.cluster.expected) == ("ray", 2)
    assert (head.clock_offset_s, head.clock_error_s, head.resources, head.seconds) == (0.5, 0.001, {"GPU": 8.0}, 1.5)
    assert head.value("environment").get("NCCL_DEBUG") == "INFO"
    assert (lost.name, lost.state, lost.reason, lost.engine_id, dict(lost.facts)) == ("w1", "died", "killed", "a2", {})
    assert gathered.notes == (f"`{stray}` is not of the last gathering, which `{MANIFEST}` lists: left out",)
    (tmp_path / MANIFEST).write_text('{"schema": "doctor-nodes/1", "nodes": 3}')
    damaged = read([tmp_path])
    assert "is damaged" in damaged.notes[0]
    assert len(damaged.cluster.heard) == 2


def test_a_clock_is_compared_with_a_file_server_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nfs, local = (MountPoint("/", kind, "filer:/x") for kind in ("nfs4", "ext4"))
    assert against_folder(tmp_path, (local,)) is None
    clock = against_folder(tmp_path, (nfs,))
    assert clock is not None
    assert abs(clock.offset_s) <= clock.error_s  # here the file system has this machine's clock
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + 40)
    clock = against_folder(tmp_path, (nfs,))
    assert clock is not None
    assert clock.offset_s == pytest.approx(40, abs=clock.error_s)
    assert not list(tmp_path.iterdir())


def test_the_clock_of_the_server_stands_in_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nfs = (MountPoint("/", "nfs", "filer:/x"),)
    monkeypatch.setattr(collecting, "against_folder", lambda folder: against_folder(folder, nfs))
    path = collecting.collect({"environment": Observed.seen(Environment({}))}, tmp_path)
    data = json.loads(path.read_text())
    jsonschema.validate(data, FACTS)
    assert set(data["clock"]) == {"offset_s", "error_s"}


def test_a_clock_in_a_file_is_the_nodes(tmp_path: Path) -> None:
    path = _put(tmp_path, "n1", Node(boot_id="b1"), clock={"offset_s": -3.5, "error_s": 0.01})
    jsonschema.validate(json.loads(path.read_text()), FACTS)
    (node,) = read([tmp_path]).cluster.nodes
    assert (node.clock_offset_s, node.clock_error_s) == (-3.5, 0.01)

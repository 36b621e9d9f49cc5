"""Runs beside each other: lists, what changed, from which step on metrics depart, checkpoints to resume from."""

from __future__ import annotations

import json
import re
import shutil
import struct
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.logs.history import resume, runs
from doctor.logs.history.compared import compare
from doctor.logs.history.metrics import departures
from doctor.run import kept
from doctor.run.folder import RunDir
from tests.commands import run_doctor

BEGIN_NS = 1_795_000_000_000_000_000


def made(base: Path, name: str, *words: str, code: int | None = 0, rewards: list[float] = [], **more: object) -> Path:  # noqa: B006
    """A run folder as `doctor run` leaves it."""
    run = RunDir(base / "doctor-runs" / name)
    run.path.mkdir(parents=True)
    ended = {} if code is None else {"exit": code, "ended_ns": BEGIN_NS + 90_000_000_000}
    run.write_run(argv=list(words), cwd=str(base), started_ns=BEGIN_NS, host="n1", **ended, **more)
    (run.path / "logs").mkdir()
    run.console.write_text("RuntimeError: CUDA error: device-side assert triggered\n" if code else "done\n")
    if rewards:
        run.metrics(0).parent.mkdir()
        rows = [f"{step},{BEGIN_NS},reward,{value}" for step, value in enumerate(rewards, 1)]
        run.metrics(0).write_text("step,t_ns,name,value\n" + "\n".join(rows) + "\n")
    return run.path


def test_runs_are_listed_with_verdict_time_best_metric_and_command(tmp_path: Path) -> None:
    made(tmp_path, "20260301T101500Z-python", "python", "train.py", rewards=[0.1, 0.7, 0.5])
    died = made(tmp_path, "20260302T101500Z-python", "python", "train.py", "--token", "hf_" + "a" * 34, code=1)
    finding = {"id": "TOR012", "name": "cuda-device-assert", "severity": "error"}
    (died / "report.json").write_text(json.dumps({"verdict": "known", "findings": [finding]}))
    made(tmp_path, "20260303T101500Z-python", "python", "train.py", code=0, stopped={"id": "NUM006"})
    (tmp_path / "doctor-runs" / "last").symlink_to("20260303T101500Z-python")
    told = json.loads(run_doctor("runs", "--format", "json", cwd=tmp_path).stdout)["runs"]
    assert [each["state"] for each in told] == ["stopped", "failed", "good"], "the latest first, the link left out"
    assert told[1]["verdict"] == "TOR012 cuda-device-assert"
    assert "hf_aaaa" not in json.dumps(told)
    assert told[2]["best"] == {"name": "reward", "value": 0.7, "step": 2}
    assert told[2]["seconds"] == 90
    shown = run_doctor("runs", cwd=tmp_path, env={"COLUMNS": "140"}).stdout
    assert "reward 0.7 at step 2" in shown
    assert "stopped by the guard" in shown


def test_a_run_without_an_end_is_not_good(tmp_path: Path) -> None:
    path = made(tmp_path, "20260301T101500Z-python", "python", "train.py", code=None)
    assert runs.read(path).state == "running"
    shutil.rmtree(path / "logs")
    assert runs.read(path).state == "unknown"


def test_the_last_good_run_is_of_the_same_script_and_before(tmp_path: Path) -> None:
    good = made(tmp_path, "20260301T101500Z-python", "python", "train.py", "--lr", "1")
    made(tmp_path, "20260302T101500Z-python", "python", "other.py")
    died = made(tmp_path, "20260303T101500Z-python", "python", "train.py", code=1)
    made(tmp_path, "20260304T101500Z-python", "python", "train.py")
    assert runs.last_good(died) == good
    assert runs.last_good(good) is None
    (tmp_path / "doctor-runs" / "last").symlink_to(good.name)
    assert runs.last_good(tmp_path / "doctor-runs" / "last") is None, "a run is not its own predecessor"


def _git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-c", "user.email=a@b.c", "-c", "user.name=a", *words], cwd=folder, check=True,
                   capture_output=True)  # fmt: skip


@pytest.mark.process
def test_what_changed_is_said_part_by_part(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print(1)\n")
    (tmp_path / "cfg.yaml").write_text("lr: 1.0e-5\nbeta: 0.04\n")
    (tmp_path / "data.jsonl").write_text('{"prompt": "a"}\n')
    _git(tmp_path, "init", "-q")
    _git(tmp_path, "add", "train.py", "cfg.yaml")
    _git(tmp_path, "commit", "-qm", "first")
    words = ["python", "train.py", "--config", "cfg.yaml", "data=data.jsonl"]
    old = made(tmp_path, "20260301T101500Z-python", *words, rewards=[0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    kept.keep(RunDir(old), words, tmp_path)
    (tmp_path / "cfg.yaml").write_text("lr: 1.0e-3\nbeta: 0.04\n")
    (tmp_path / "data.jsonl").write_text('{"prompt": "b"}\n{"prompt": "c"}\n')
    _git(tmp_path, "commit", "-qam", "second")
    (tmp_path / "train.py").write_text(f"print(2)  # {'hf_' + 'b' * 34}\n")
    words = [*words, "--seed", "7"]
    new = made(tmp_path, "20260302T101500Z-python", *words, code=1, rewards=[0.1, 0.2, 0.3, -3.0, -3.1, -3.2])
    kept.keep(RunDir(new), words, tmp_path)
    found = compare(old, new)
    told = {(each.part, each.name): each for each in found.changes}
    assert told["command", "--seed"].new == "7"
    assert told["configuration", "cfg.yaml"].lines == ("-lr: 1.0e-5", "+lr: 1.0e-3")
    assert "16 bytes" in str(told["data", "data.jsonl"].old)
    assert "first" in str(told["code", "git revision"].old)
    assert "+print(2)" in told["code", "uncommitted changes"].lines[-1]
    assert "hf_bbbb" not in json.dumps(found.as_data()) + (new / kept.DIFF).read_text()
    assert set(found.unknown) == {"environment", "machine"}
    assert [(each.name, each.step) for each in found.departed] == [("reward", 4)]
    done = run_doctor("compare", "last", "--last-good", cwd=tmp_path)
    assert done.returncode == 1, "the last run differs from the good one"


@pytest.mark.process
def test_compare_names_the_step(tmp_path: Path) -> None:
    made(tmp_path, "20260301T101500Z-python", "python", "train.py", rewards=[0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    made(tmp_path, "20260302T101500Z-python", "python", "train.py", "-v", code=1, rewards=[0.1, 0.2, 0.3, -3, -3, -3])
    done = run_doctor("compare", "--last-good", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "from step 4: 0.4 → -3" in done.stdout
    assert "Not compared: configuration, code, data" in done.stdout
    same = run_doctor("compare", "20260301T101500Z-python", "20260301T101500Z-python", cwd=tmp_path)
    assert same.returncode == 0, same.stdout
    assert run_doctor("compare", "nowhere", "last", cwd=tmp_path).returncode == 2


@pytest.mark.parametrize(
    ("old", "new", "step"),
    [
        ([1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6], None),
        ([1, 2, 3, 4, 5, 6], [1.5, 2.4, 3.3, 4.4, 5.5, 6.1], None),  # no further apart than a step moves
        ([1, 2, 3, 4, 5, 6], [1, 2, 20, 4, 5, 6], None),  # comes back
        ([1, 2, 3, 4, 5, 6], [1, 2, float("nan"), float("nan"), float("nan"), float("nan")], 3),
        ([0.5] * 6, [0.5, 0.5, 0.5, 0.6, 0.6, 0.6], 4),
        ([1, 2], [5, 6], None),  # too little to say
    ],
)
def test_from_which_step_on_two_runs_depart(old: list[float], new: list[float], step: int | None) -> None:
    found = departures({"reward": dict(enumerate(old, 1))}, {"reward": dict(enumerate(new, 1))})
    assert (found[0].step if found else None) == step


# --- checkpoints ---


def _safetensors(path: Path, size: int = 4000) -> None:
    head = json.dumps({"w": {"dtype": "F32", "shape": [size // 4], "data_offsets": [0, size]}}).encode()
    path.write_bytes(struct.pack("<Q", len(head)) + head + bytes(size))


def _state(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("data.pkl", b"x" * 300)


def _trainer(folder: Path) -> Path:
    folder.mkdir(parents=True)
    _safetensors(folder / "model.safetensors")
    for name in ("optimizer.pt", "scheduler.pt", "rng_state.pth"):
        _state(folder / name)
    (folder / "trainer_state.json").write_text("{}")
    (folder / "config.json").write_text("{}")
    return folder


def _cut_weights(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1000])


def _cut_optimizer(folder: Path) -> None:
    path = folder / "optimizer.pt"
    path.write_bytes(path.read_bytes()[:-30])


def _lost_shard(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "model-00001-of-00002.safetensors")
    index = {"metadata": {}, "weight_map": {"w": "model-00001-of-00002.safetensors",
                                            "v": "model-00002-of-00002.safetensors"}}  # fmt: skip
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


@pytest.mark.parametrize("broken", [_cut_weights, _cut_optimizer, _lost_shard])
def test_the_last_complete_checkpoint_is_named(tmp_path: Path, broken: Callable[[Path], None]) -> None:
    for step in (100, 200, 1000):
        _trainer(tmp_path / "out" / f"checkpoint-{step}")
    broken(tmp_path / "out" / "checkpoint-1000")
    found = resume.look(tmp_path / "out")
    assert [(each.step, each.whole) for each in found] == [(1000, False), (200, True), (100, True)]
    done = run_doctor("checkpoint", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Last complete checkpoint: out/checkpoint-200" in done.stdout
    assert "resume_from_checkpoint='out/checkpoint-200'" in done.stdout
    chinese = run_doctor("checkpoint", "out", "--lang", "zh", cwd=tmp_path).stdout
    assert re.search("checkpoint-1000 .*(被截断|缺少:)", chinese), chinese
    assert not re.search("cut off|missing|, or |weights ", chinese), chinese
    told = json.loads(run_doctor("checkpoint", "out", "--format", "json", cwd=tmp_path).stdout)
    assert told["last_complete"].endswith("checkpoint-200")
    assert told["checkpoints"][0]["problems"]


def test_what_a_resume_lacks_is_said(tmp_path: Path) -> None:
    folder = _trainer(tmp_path / "checkpoint-5")
    (folder / "optimizer.pt").unlink()
    (found,) = resume.look(tmp_path)
    assert found.whole
    assert [name for name, there in found.needs.items() if not there] == ["optimizer"]


def test_states_without_weights_are_a_checkpoint_that_is_not_complete(tmp_path: Path) -> None:
    folder = _trainer(tmp_path / "checkpoint-5")
    for each in folder.glob("*.safetensors*"):
        each.unlink()
    (found,) = resume.look(tmp_path)
    assert (found.step, found.problems) == (5, ("no model weights",))


def test_a_folder_without_checkpoints(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    _safetensors(tmp_path / "model" / "model.safetensors")  # downloaded, not saved by a training
    done = run_doctor("checkpoint", ".", cwd=tmp_path)
    assert done.returncode == 1
    assert "No checkpoint" in done.stdout


def test_a_rank_of_verl_that_is_missing(tmp_path: Path) -> None:
    actor = tmp_path / "global_step_40" / "actor"
    actor.mkdir(parents=True)
    for rank in (0, 1, 3):
        _state(actor / f"model_world_size_4_rank_{rank}.pt")
    (found,) = resume.look(tmp_path)
    assert (found.step, found.whole, found.kind) == (40, False, "rank-shards")
    _state(actor / "model_world_size_4_rank_2.pt")
    _state(actor / "optim_world_size_4_rank_0.pt")
    (found,) = resume.look(tmp_path)
    assert found.whole
    assert found.needs == {"optimizer": True, "step and random state": False}
    assert "trainer.resume_from_path=" in found.how
    assert found.how.endswith("global_step_40")

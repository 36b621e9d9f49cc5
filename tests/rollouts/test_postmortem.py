"""`doctor postmortem` over what a run left: logs, rollouts and checkpoints in one report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from doctor.cli.postmortem import command

from . import dumps as made
from .test_judgement import empty, flat

TRACEBACK = """[rank0]: Traceback (most recent call last):
[rank0]:   File "/home/user/train.py", line 12, in <module>
[rank0]:     trainer.train()
[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of \
79.15 GiB of which 10.00 MiB is free.
"""


def report(*arguments: object) -> dict[str, object]:
    result = CliRunner().invoke(command, [*map(str, arguments), "--format", "json"], standalone_mode=False)
    assert result.exception is None, result.output
    found: dict[str, object] = json.loads(result.output)
    return found


def ids(found: dict[str, object]) -> list[tuple[str, str]]:
    return [(each["id"], each["role"]) for each in found["findings"]]  # type: ignore[attr-defined, index]


def test_rollouts_of_a_run_that_ended_well(tmp_path: Path) -> None:
    made.verl(tmp_path / "rollouts", empty)
    made.verl(tmp_path / "val_rollouts")
    (tmp_path / "train.log").write_text("step 1\n")
    found = report(tmp_path)
    assert ids(found)[0] == ("RLX012", "cause")
    assert found["verdict"] == "known"
    summary = found["target"]["summary"]  # type: ignore[index]
    assert any("192 answers of 12 steps (veRL rollouts)" in each for each in summary)
    assert any("(veRL evaluation)" in each for each in summary)


def test_what_ended_the_run_comes_first(tmp_path: Path) -> None:
    made.verl(tmp_path / "rollouts", flat)
    (tmp_path / "train.log").write_text(TRACEBACK)
    found = ids(report(tmp_path))
    assert found[0][0].startswith("MEM")
    assert ("RLX008", "contributing") in found


def test_a_checkpoint_in_pieces_is_no_failure(tmp_path: Path) -> None:
    folder = tmp_path / "global_step_4" / "actor"
    folder.mkdir(parents=True)
    (folder / "model_world_size_1_rank_0.pt").write_bytes(b"older than archives")
    found = report(tmp_path)
    assert [each for each, _ in ids(found)] == ["CKP9009/rank_shards"]
    assert found["verdict"] == "unknown"  # a checkpoint alone shows no end of a run
    assert found["summary"]["errors"] == 0  # type: ignore[index]


def test_files_and_globs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made.verl(tmp_path / "rollouts", flat)
    assert ids(report(tmp_path / "rollouts" / "*.jsonl"))[0][0] == "RLX008"
    monkeypatch.chdir(tmp_path / "rollouts")
    assert ids(report(*(f"{step}.jsonl" for step in range(1, 13))))[0][0] == "RLX008"
    assert report("3.jsonl")["findings"] == [], "one step says nothing"

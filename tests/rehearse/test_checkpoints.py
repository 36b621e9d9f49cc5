"""Checkpoints are compared by their headers, and the rehearsal's own told from those that were there."""

from __future__ import annotations

import json
import os
import struct
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from doctor.monitors.rehearse import checkpoints, journal, loops, trainers
from doctor.monitors.rehearse.make_tiny import headers
from doctor.monitors.rehearse.settings import VARIABLE, PassSettings, _Read


def safetensors(path: Path, shapes: dict[str, list[int]]) -> None:
    """A file with that header and no data."""
    header = json.dumps(
        {name: {"dtype": "F32", "shape": each, "data_offsets": [0, 0]} for name, each in shapes.items()}
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(struct.pack("<Q", len(header)) + header.encode())


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A rehearsal of this process that began now."""
    stage = tmp_path / "stage"
    stage.mkdir()
    file = tmp_path / "settings.json"
    file.write_text(PassSettings(stage, time.time_ns(), held=True).as_json())
    monkeypatch.setenv(VARIABLE, str(file))
    monkeypatch.setattr(_Read, "settings", None)
    monkeypatch.setattr(journal._Own, "pid", None)
    return stage


def trainer(output: Path, model: Path) -> Any:
    config = SimpleNamespace(_name_or_path=str(model))
    return SimpleNamespace(args=SimpleNamespace(output_dir=str(output)), model=SimpleNamespace(config=config))


def compared(root: Path) -> list[dict[str, Any]]:
    return [each for each in journal.entries(root) if each["kind"] == "resume_own"]


def old(folder: Path) -> None:
    for each in folder.rglob("*"):
        os.utime(each, (1e9, 1e9))


def test_headers_are_read_without_the_weights(tmp_path: Path) -> None:
    safetensors(tmp_path / "model-1.safetensors", {"a": [2, 3]})
    safetensors(tmp_path / "model-2.safetensors", {"b": [4]})
    found = headers(tmp_path)
    assert found is not None
    assert {name: each["shape"] for name, each in found.items()} == {"a": [2, 3], "b": [4]}
    assert headers(tmp_path / "nowhere") is None


def test_the_users_checkpoint_is_compared_and_not_loaded(root: Path, tmp_path: Path) -> None:
    safetensors(tmp_path / "model" / "model.safetensors", {"a": [2, 3], "b": [4]})
    safetensors(tmp_path / "out" / "checkpoint-500" / "model.safetensors", {"a": [2, 5], "c": [1]})
    old(tmp_path / "out")
    made = trainer(tmp_path / "out", tmp_path / "model")
    for asked in (True, str(tmp_path / "out" / "checkpoint-500")):
        assert checkpoints.of_the_user(made, asked) is None
    first, second = compared(root)
    assert first["shapes"] == second["shapes"] == {"a": [[2, 5], [2, 3]]}
    assert (first["missing"], first["unexpected"]) == (["b"], ["c"])


def test_a_checkpoint_that_is_not_there_is_the_trainers_to_refuse(root: Path, tmp_path: Path) -> None:
    made = trainer(tmp_path / "out", tmp_path / "model")
    assert checkpoints.of_the_user(made, True) is True
    assert checkpoints.of_the_user(made, "out/checkpoint-500") == "out/checkpoint-500"
    assert compared(root) == []


def test_checkpoints_of_the_rehearsal_are_told_from_those_that_were_there(root: Path, tmp_path: Path) -> None:
    assert root.is_dir()
    for step in (500, 1000):
        safetensors(tmp_path / "out" / f"checkpoint-{step}" / "model.safetensors", {"a": [1]})
    old(tmp_path / "out")
    safetensors(tmp_path / "out" / "checkpoint-2" / "model.safetensors", {"a": [1]})
    (tmp_path / "out" / "checkpoint-best").mkdir()
    assert [each.name for each in checkpoints.checkpoints(tmp_path / "out")] == ["checkpoint-2"]
    there = checkpoints.checkpoints(tmp_path / "out", own=False)
    assert [each.name for each in there] == ["checkpoint-500", "checkpoint-1000"]


def test_a_second_pass_resumes_what_the_first_saved_in_a_folder_of_another_name(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tmp_path / "out" / "v0", tmp_path / "out" / "v1"
    safetensors(first / "checkpoint-2" / "model.safetensors", {"a": [2]})
    journal.write("training", number=1, output=str(first))
    (root / journal.FOLDER).rename(root / journal.FIRST)
    monkeypatch.setattr(_Read, "settings", PassSettings(root, 0, held=True, resume=True))
    monkeypatch.setattr(journal._Own, "pid", None)
    monkeypatch.setattr(loops.Current, "trainings", 0)
    made = trainer(second, tmp_path / "base")
    assert trainers._resume(made, None) == str(first / "checkpoint-2")
    monkeypatch.setattr(loops.Current, "trainings", 1)
    assert trainers._resume(made, None) is None, "a second training is another one"

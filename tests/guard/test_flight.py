"""The flight recorder: switched on unless the user has a mind of their own, written only where NCCL is used."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from doctor.monitors.guard import flight
from doctor.run.folder import RunDir


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunDir:
    for name in [each for each in os.environ if each.startswith(("TORCH_FR_", "TORCH_NCCL_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    return RunDir.create("test", tmp_path)


@pytest.mark.parametrize(
    ("version", "size", "file"),
    [
        ("2.7.1+cu126", "TORCH_NCCL_TRACE_BUFFER_SIZE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE"),
        ("2.8.0", "TORCH_FR_BUFFER_SIZE", "TORCH_FR_DUMP_TEMP_FILE"),
        ("2.13.0+cpu", "TORCH_FR_BUFFER_SIZE", "TORCH_FR_DUMP_TEMP_FILE"),
    ],
)
def test_the_names_are_those_of_the_release(
    version: str, size: str, file: str, run: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(__version__=version))  # type: ignore[arg-type]
    made = flight.prepare(run)
    assert set(made) == {size, file, "TORCH_NCCL_DUMP_ON_TIMEOUT"}
    assert all(os.environ[name] == value for name, value in made.items())
    assert Path(made[file]).parent == run.path / "stacks"
    assert Path(made[file]).parent.is_dir()


@pytest.mark.parametrize("name", ["TORCH_NCCL_TRACE_BUFFER_SIZE", "TORCH_FR_DUMP_TEMP_FILE"])
def test_what_the_user_set_counts(name: str, run: RunDir, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(__version__="2.13.0"))  # type: ignore[arg-type]
    os.environ[name] = "0"
    assert flight.prepare(run) == {}
    assert not (run.path / "stacks").exists()


def test_without_torch_nothing_is_set(run: RunDir, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)  # type: ignore[arg-type]
    assert flight.prepare(run) == {}


def test_only_what_nccl_holds_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    group = SimpleNamespace(
        is_available=lambda: True, is_initialized=lambda: True, get_backend=lambda: "cpu:gloo,cuda:nccl"
    )
    c10d = SimpleNamespace(_dump_nccl_trace=lambda: b"dump")
    monkeypatch.setitem(sys.modules, "torch._C._distributed_c10d", c10d)  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "torch.distributed", group)  # type: ignore[arg-type]
    path = flight.dump(tmp_path, 3)
    assert path is not None
    assert (path.name, path.read_bytes()) == ("nccl_trace_rank_3", b"dump")
    group.get_backend = lambda: "gloo"
    assert flight.dump(tmp_path, 4) is None
    group.get_backend = lambda: "nccl"
    monkeypatch.setitem(sys.modules, "torch._C._distributed_c10d", SimpleNamespace())  # type: ignore[arg-type]
    assert flight.dump(tmp_path, 4) is None

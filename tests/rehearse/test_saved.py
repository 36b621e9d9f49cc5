"""What a program saves of weights by itself is looked at, and written as it is."""

from __future__ import annotations

import time
import types
from pathlib import Path
from typing import Any

import pytest

from doctor.monitors.rehearse import journal, saved
from doctor.monitors.rehearse.settings import VARIABLE, PassSettings, _Read

torch = pytest.importorskip("torch")


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A rehearsal of this process."""
    folder = tmp_path / "stage"
    folder.mkdir()
    file = tmp_path / "settings.json"
    file.write_text(PassSettings(folder, time.time_ns()).as_json())
    monkeypatch.setenv(VARIABLE, str(file))
    monkeypatch.setattr(_Read, "settings", None)
    monkeypatch.setattr(journal._Own, "pid", None)
    monkeypatch.setattr(journal._Own, "told", set())
    return folder


def noted(stage: Path) -> list[dict[str, Any]]:
    return [each for each in journal.entries(stage) if each["kind"] == "saved_empty"]


EMPTY = {f"layer.{at}": torch.empty(0) for at in range(5)}
WHOLE = {f"layer.{at}": torch.ones(2) for at in range(5)}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (EMPTY, "layer.0"),
        ({**EMPTY, "norm": torch.ones(3)}, "layer.0"),
        ({"model": EMPTY, "optimizer": {}}, "layer.0"),
        (WHOLE, None),
        ({**WHOLE, "layer.9": torch.empty(0)}, None),
        ({"module": EMPTY, "param_shapes": [{}]}, None),  # DeepSpeed's own, which keeps the sizes beside it
        ({"a": torch.empty(0)}, None),
        ([1, 2], None),
        ({}, None),
    ],
)
def test_placeholders_are_noted_and_all_is_written(given: Any, told: str | None, stage: Path) -> None:
    written: list[Any] = []
    module = types.SimpleNamespace(save=lambda what, f: written.append((what, f)))
    saved.torch_files(module)
    module.save(given, "weights.pt")
    module.save(given, f=Path("weights.pt"))
    assert [each[0] is given for each in written] == [True, True]
    found = noted(stage)
    assert [each["first"] for each in found] == ([told] if told else [])
    assert not found or found[0]["path"] == "weights.pt"


def test_safetensors_tell_their_shapes(stage: Path) -> None:
    written: list[Any] = []
    module = types.SimpleNamespace(serialize_file=lambda what, filename, metadata=None: written.append(filename))
    saved.safetensors_files(module)
    module.serialize_file(
        {f"w{at}": {"shape": [2, 0], "dtype": "F32", "data": b""} for at in range(4)}, "a.safetensors"
    )
    module.serialize_file(
        {f"w{at}": {"shape": [], "dtype": "F32", "data": b"1234"} for at in range(4)}, "b.safetensors"
    )
    assert written == ["a.safetensors", "b.safetensors"]
    assert [(each["empty"], each["of"]) for each in noted(stage)] == [(4, 4)]

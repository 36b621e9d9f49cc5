"""What NVIDIA's programs print beside the sampler is read as they print it, and what the witness left likewise."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

STEPS = Path(__file__).parents[2] / "tools" / "gpu_truth" / "steps"


def step_of(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A step as a module; it finds its bench as it does when it is started."""
    monkeypatch.syspath_prepend(str(STEPS.parent))
    spec = importlib.util.spec_from_file_location(f"gpu_truth_{name}", STEPS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


#: as `nvidia-smi dmon -s pum` prints it: https://docs.nvidia.com/deploy/nvidia-smi/index.html
DMON = """\
# gpu    pwr  gtemp  mtemp     sm    mem    enc    dec    jpg    ofa     fb   bar1   ccpm
# Idx      W      C      C      %      %      %      %      %      %     MB     MB     MB
    0     68     26     27     99      3      0      0      0      0    561      3      0
    0    121     28      -      -      0      0      0      0      0    562      3      0
"""


def test_rows_of_dmon(monkeypatch: pytest.MonkeyPatch) -> None:
    sampler = step_of("sampler", monkeypatch)
    rows = sampler.table_of_dmon([(float(at), line) for at, line in enumerate(DMON.splitlines())])
    assert rows == [
        (2.0, {"power_w": 68.0, "gpu_busy_pct": 99.0, "memory_used_mib": 561.0, "temperature_c": 26.0}),
        (3.0, {"power_w": 121.0, "memory_used_mib": 562.0, "temperature_c": 28.0}),
    ]


def test_shares_of_dcgm(monkeypatch: pytest.MonkeyPatch) -> None:
    sampler = step_of("sampler", monkeypatch)
    lines = ["#Entity   SMACT", "ID", "GPU 0     N/A", "GPU 0     0.125", ""]
    assert sampler.shares_of_dcgm([(float(at), line) for at, line in enumerate(lines)]) == [(3.0, 12.5)]


def test_a_witness_that_saw_nothing_is_no_result(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    witness = step_of("witness", monkeypatch)
    (tmp_path / "events").mkdir()
    off = {"kind": "monitor", "data": {"witness": "off", "reason": "it serves no model"}}
    (tmp_path / "events" / "here-1.jsonl").write_text(json.dumps(off) + "\n")
    with pytest.raises(RuntimeError, match="it serves no model"):
        witness.events(tmp_path)

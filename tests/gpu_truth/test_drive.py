"""Steps, limits, what is done again, the archive and the page that is made of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import Any

import pytest

from tests.real.runs import interpreter

tomllib = pytest.importorskip("tomllib")
pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]
TOOL = ROOT / "tools" / "gpu_truth"
CLAIMS = tomllib.loads((TOOL / "claims.toml").read_text())["claim"]


def drive(folder: Path, *words: str, tool: Path = TOOL, **more: str) -> subprocess.CompletedProcess[str]:
    """The driver on the stand-in."""
    command = [sys.executable, str(tool / "drive.py"), str(folder), "--stand-in", *words]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **more}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=2400, check=False)


def result(folder: Path, step: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / step / "result.json").read_text())
    return found


def page(*results: Path) -> str:
    command = [sys.executable, str(TOOL / "report.py"), *map(str, results)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


@pytest.fixture
def tool(tmp_path: Path) -> Path:
    """The driver over steps of the test's own: one that measures, one that hangs with a child, one that raises."""
    folder = tmp_path / "tool"
    (folder / "steps").mkdir(parents=True)
    text = (TOOL / "drive.py").read_text()
    begin, end = text.index("STEPS = {"), text.index('DONE = ("measured"')
    steps = 'STEPS = {"good": 20, "hanging": 3, "raising": 20}\n'
    (folder / "drive.py").write_text(text[:begin] + steps + text[end:])
    (folder / "bench.py").write_text((TOOL / "bench.py").read_text().replace("parents[2]", "parents[0]"))
    head = "import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))\nfrom bench import step\n"
    bodies = {
        "good": "def run(bench):\n    bench.measures['figure'] = 7\n    bench.without('no card', 'other')\n",
        "hanging": "import subprocess\ndef run(bench):\n    child = subprocess.Popen(['sleep', '60'])\n"
        "    (bench.folder / 'child').write_text(str(child.pid))\n    child.wait()\n",
        "raising": "def run(bench):\n    bench.measures['before'] = 1\n    raise ValueError('of my own')\n",
    }
    for name, body in bodies.items():
        (folder / "steps" / f"{name}.py").write_text(f"{head}{body}step(run)\n")
    return folder


def test_a_step_that_hangs_or_raises_costs_only_itself(tool: Path, tmp_path: Path) -> None:
    done = drive(tmp_path / "out", tool=tool)
    assert done.returncode == 1
    states = {name: result(tmp_path / "out", name) for name in ("good", "hanging", "raising")}
    assert [each["status"] for each in states.values()] == ["measured", "timed-out", "failed"]
    assert states["good"]["measures"] == {"figure": 7}
    assert (states["raising"]["measures"], states["raising"]["why"]) == ({"before": 1}, "ValueError: of my own")
    child = int((tmp_path / "out" / "hanging" / "child").read_text())
    stat = Path(f"/proc/{child}/stat")
    assert not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z", "nothing of a step outlives it"
    with tarfile.open(tmp_path / "out.tar.gz") as packed:
        assert "out/good/result.json" in packed.getnames()


def test_a_second_call_does_only_what_is_open(tool: Path, tmp_path: Path) -> None:
    drive(tmp_path / "out", "--only", "good", tool=tool)
    first = result(tmp_path / "out", "good")["began"]
    time.sleep(1.1)
    drive(tmp_path / "out", "--only", "good", "raising", tool=tool)
    assert result(tmp_path / "out", "good")["began"] == first
    drive(tmp_path / "out", "--only", "good", "--again", tool=tool)
    assert result(tmp_path / "out", "good")["began"] != first


def test_no_step_begins_that_may_end_too_late(tool: Path, tmp_path: Path) -> None:
    done = drive(tmp_path / "out", "--seconds", "10", tool=tool)
    assert "not begun" in done.stdout
    assert not (tmp_path / "out" / "good").exists()


def test_the_claims_stand_in_the_docs() -> None:
    for claim in CLAIMS:
        text = " ".join((ROOT / claim["doc"]).read_text().split())
        assert claim.get("says", "") in text, claim
        step = claim["measure"].partition(".")[0]
        assert (TOOL / "steps" / f"{step}.py").exists(), claim


def test_the_page_marks_a_card_and_only_names_a_stand_in(tmp_path: Path) -> None:
    for kind in ("cuda", "stand-in"):
        for step, measures in (("machine", {"names": ["H100"], "driver": "580"}), ("sampler", {"sm_error_worst": 0.3})):
            place = tmp_path / kind / step
            place.mkdir(parents=True)
            kept = {"step": step, "status": "measured", "why": "", "missing": {}, "measures": measures}
            (place / "result.json").write_text(json.dumps({**kept, "device_kind": kind}))
    text = page(tmp_path / "cuda", tmp_path / "stand-in")
    (row,) = [line for line in text.splitlines() if "share of active SMs" in line]
    assert row.endswith("| ✗ 30.0 % | 30.0 % |")
    assert "not known: waits for a card" in text


def test_the_committed_page_is_made_of_the_committed_results() -> None:
    results = sorted((ROOT / "docs" / "gpu-truth").glob("*.tar.gz"))
    assert (ROOT / "docs" / "gpu-truth.md").read_text() == page(*results)


@pytest.mark.slow
@pytest.mark.timeout(2500)
def test_every_step_on_the_stand_in(tmp_path: Path) -> None:
    done = drive(tmp_path / "out", DOCTOR_TRAIN_PYTHON=str(interpreter()))
    assert done.returncode == 0, done.stdout + done.stderr
    found = {path.parent.name: json.loads(path.read_text()) for path in (tmp_path / "out").glob("*/result.json")}
    assert {each["status"] for each in found.values()} == {"measured"}, done.stdout
    assert found["sampler"]["measures"]["sm_error_worst"] < 0.02
    assert found["guard"]["measures"]["nan_caught"] == ["weight", "backward", "reward"]
    assert found["guard"]["measures"]["healthy_silent"]
    assert found["capsule"]["measures"]["capsules_written"] == ["token-outside", "out-of-memory"]
    assert found["capsule"]["measures"]["seconds_most"] < 2
    assert found["memory"]["measures"]["error_worst"] < 0.1
    assert found["witness"]["measures"]["stale_named"] == ["dense", "moe"]
    assert (found["witness"]["measures"]["accused"], found["witness"]["measures"]["gap_worst"]) == ([], 0.0)
    assert found["rehearsal"]["measures"]["findings"] == []
    assert abs(found["rehearsal"]["measures"]["error"]) < 0.1
    assert found["provoked"]["measures"]["accused"] == []
    for claim in CLAIMS:  # a measure is there, or its step says why not
        step, _, name = claim["measure"].partition(".")
        assert name in found[step]["measures"] or name in found[step]["missing"], claim
    with tarfile.open(tmp_path / "out.tar.gz") as packed:
        names = set(packed.getnames())
    assert {f"out/{step}/result.json" for step in found} <= names
    assert "not known" in page(tmp_path / "out.tar.gz")

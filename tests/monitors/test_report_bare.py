"""The report of the default install: the same figures with and without numpy and pandas, in a fresh environment."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import venv
from array import array
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from doctor.monitors.sampler import columns
from doctor.monitors.usage import files, frames, numbers, plainly
from doctor.monitors.usage.numbers import Grid
from doctor.monitors.usage.tracks import Track

ROOT = Path(__file__).parents[2]
BEGIN_NS = 1_795_000_000_000_000_000
EXTRAS = ("numpy", "pandas", "pyarrow")


def _default_packages(name: str = "grpo-doctor", seen: set[str] | None = None) -> set[Path]:
    """Files and folders at the top of site-packages of what the default install brings."""
    seen = set() if seen is None else seen
    found: set[Path] = set()
    try:
        made = distribution(name)
    except PackageNotFoundError:
        return found
    for each in made.files or ():
        top = Path(str(made.locate_file(each.parts[0])))
        if each.parts[0] not in {"..", "__pycache__"} and top.exists() and name != "grpo-doctor":
            found.add(top)
    for text in made.requires or ():
        wanted = Requirement(text)
        if wanted.name not in seen and (wanted.marker is None or wanted.marker.evaluate({"extra": ""})):
            seen.add(wanted.name)
            found |= _default_packages(wanted.name, seen)
    return found


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter of a new environment with the packages of the default install and no other."""
    folder = tmp_path_factory.mktemp("bare")
    venv.EnvBuilder(with_pip=False, symlinks=True).create(folder / "env")
    packages = folder / "packages"
    packages.mkdir()
    for each in _default_packages():
        (packages / each.name).symlink_to(each)
    (site,) = (folder / "env").glob("lib/python3*/site-packages")
    (site / "default.pth").write_text(f"{packages}\n{ROOT}\n")
    return folder / "env" / "bin" / "python"


def _written(path: Path, rows: int) -> Path:
    """Two GPUs with holes, two clocks of figures, throttling, and a torn line."""
    chance = random.Random(7)  # noqa: S311
    lines = [f"# schema {columns.GPU_SCHEMA}", ",".join(columns.GPU)]
    for number in range(rows):
        for gpu in range(2):
            cells: dict[str, Any] = {
                "t_ns": BEGIN_NS + number * 97_000_000, "host": "n1", "gpu": gpu, "uuid": f"GPU-{gpu}",
                "power_w": f"{chance.uniform(80, 700):.1f}", "memory_used_mib": chance.randrange(1000, 80_000),
                "throttle_reasons": chance.choice(["none", "hw_thermal_slowdown", "sw_power_cap|sw_thermal_slowdown"]),
                "sm_clock_mhz": 1980 - 15 * chance.randrange(9),
            }  # fmt: skip
            if number % 10 == 0:
                active = f"{chance.uniform(0, 100):.2f}"
                cells |= {"sm_active_pct": active, "sm_window_s": "0.97", "sm_source": "gpm", "gpu_busy_pct": active}
            lines.append(",".join(str(cells.get(name, "")) for name in columns.GPU))
    path.write_text("\n".join(lines) + "\n12,half a row\n")
    return path


def _told(python: Path, *words: str) -> dict[str, Any]:
    done = subprocess.run(
        [str(python), "-m", "doctor", "report", *words, "--format", "json"], capture_output=True, text=True,
        timeout=300, check=False, cwd=words[0] if Path(words[0]).is_dir() else None,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stdout + done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    report["summary"].pop("seconds")
    assert not report["crashed"]
    return report


@pytest.mark.process
def test_the_default_install_tells_the_same(bare: Path, tmp_path: Path) -> None:
    pytest.importorskip("pandas", reason="pandas is not installed (extra `report`)")
    there = subprocess.run(
        [str(bare), "-c", f"import importlib.util as u; print([n for n in {EXTRAS} if u.find_spec(n)])"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert there.stdout.strip() == "[]"
    path = _written(tmp_path / "gpu.csv", 60_000)
    assert path.stat().st_size > files.MANY_BYTES, "pandas is to read it where it is installed"
    with_all, without = _told(Path(sys.executable), str(path)), _told(bare, str(path))
    assert without == with_all
    assert without["usage"]["gpus"][0]["slowed_share"] == pytest.approx(2 / 3, abs=0.02)
    page = tmp_path / "page.html"
    command = [str(bare), "-m", "doctor", "report", str(path), "--html", str(page)]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    assert page.read_text().count('<div class="time">') >= 3


def test_both_readers_read_the_same(tmp_path: Path) -> None:
    pytest.importorskip("pandas", reason="pandas is not installed (extra `report`)")
    path = _written(tmp_path / "gpu.csv", 300)
    told: list[list[str]] = [[], []]
    (one, of_one), (other, of_other) = (each.read([path], told[at]) for at, each in enumerate((plainly, frames)))
    assert told[0] == told[1] == ["1 line could not be read as rows and were left out"]
    assert of_one == of_other
    assert {key: set(figures) for key, figures in one.items()} == {key: set(each) for key, each in other.items()}
    assert all(one[key][name] == other[key][name] for key in one for name in one[key])


@pytest.mark.parametrize("windowed", [True, False])
def test_long_tracks_come_to_the_same_with_and_without_numpy(monkeypatch: pytest.MonkeyPatch, windowed: bool) -> None:
    pytest.importorskip("numpy")
    chance, at = random.Random(3), 0.0  # noqa: S311
    times, values = array("d"), array("f")
    for _ in range(5_000):
        at += chance.choice([0.1, 0.1, 0.1, 90.0 if chance.random() < 0.01 else 0.3])
        times.append(at)
        values.append(chance.uniform(0, 100))
    track = Track(times, values)
    windows = Track(times, array("f", [0.25] * len(times))) if windowed else None
    grid = Grid(0.0, 1.7, 900)
    plain = numbers.mean(track, windows), numbers.binned(track, grid, windows)
    monkeypatch.setattr(numbers, "LONG", 1)
    fast = numbers.mean(track, windows), numbers.binned(track, grid, windows)
    assert fast[0] == pytest.approx(plain[0])
    assert fast[1] == pytest.approx(plain[1], nan_ok=True)
    assert sum(value == value for value in plain[1]) > 100  # noqa: PLR0124 - NaN


@pytest.mark.process
def test_without_a_gpu_the_report_shows_the_host(bare: Path, tmp_path: Path) -> None:
    command = [str(bare), "-m", "doctor", "monitor", "--during-run", "--", "sleep", "3"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "pandas" not in done.stderr
    (run,) = (tmp_path / "doctor-runs").glob("2*")
    shown = subprocess.run(
        [str(bare), "-m", "doctor", "report", str(run)], cwd=tmp_path, capture_output=True, text=True, timeout=120,
        check=False, env={**os.environ, "COLUMNS": "160"},  # narrower, the heads are folded
    )  # fmt: skip
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert "no GPU sampled" in shown.stdout or "GPU" in shown.stdout
    for word in ("CPU %", "memory GiB", "read", "received"):
        assert word in shown.stdout
    (machine,) = _told(bare, str(run))["usage"]["machines"]
    assert machine["memory_total_mib"] > machine["memory_peak_mib"] > 0
    assert machine["cpus"] >= 1

"""`doctor check` on a machine with a GPU: what it says of the card is what nvidia-smi says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gpu.conftest import PYTHON

pytestmark = pytest.mark.process

QUERY = "name,uuid,driver_version,memory.total,power.limit,pcie.link.width.max,ecc.mode.current,mig.mode.current"


def check(folder: Path, env: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "doctor", "check", "--python", PYTHON, "--save-facts", str(folder / "facts.json")]
    return subprocess.run(
        [*command, *words], cwd=folder, env=env, capture_output=True, text=True, timeout=280, check=False
    )


def test_the_facts_are_those_of_nvidia_smi(tmp_path: Path, env: dict[str, str]) -> None:
    done = check(tmp_path, env)
    assert done.returncode in (0, 1), done.stderr
    gpus = json.loads((tmp_path / "facts.json").read_text())["facts"]["gpus"]["value"]
    asked = ["nvidia-smi", f"--query-gpu={QUERY}", "--format=csv,noheader,nounits"]
    lines = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(gpus["gpus"]) == len(lines)
    for gpu, line in zip(gpus["gpus"], lines, strict=True):
        name, uuid, driver, memory, power, width, ecc, mig = (each.strip() for each in line.split(","))
        assert (gpu["name"], gpu["uuid"], gpus["driver_version"]) == (name, uuid, driver)
        assert gpu["memory_total_bytes"] >> 20 == int(memory)
        assert gpu["power_limit_w"] == pytest.approx(float(power))
        assert gpu["pcie_width_max"] == int(width)
        assert gpu["ecc_enabled"] == (ecc == "Enabled")
        assert gpu["mig_enabled"] == (mig == "Enabled")


def test_deep_multiplies_on_the_card(tmp_path: Path, env: dict[str, str]) -> None:
    done = check(tmp_path, env, "--deep", "--format", "json")
    told = json.loads(done.stdout)
    assert not [each for each in told["findings"] if each["severity"] == "error"], done.stdout

"""A real Ray under a rehearsal: a cluster of its own, whose workers carry the hook."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from doctor.monitors.rehearse import rays
from tests.rehearse.test_hooks import set_up

pytestmark = [
    pytest.mark.process,
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="no Ray here"),
]

PROGRAM = """
import json, os, sys, ray

ray.init(address="auto", num_cpus=1, include_dashboard=False, runtime_env={"env_vars": {"PYTHONPATH": "/mine"}})

@ray.remote
def look():
    return "doctor.monitors.rehearse.attach" in sys.modules, os.environ["PYTHONPATH"]

has_hook, path = ray.get(look.remote())
print("SAID", json.dumps(has_hook), path)
"""


@pytest.mark.timeout(400)
def test_workers_carry_the_hook_and_no_running_cluster_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "program.py").write_text(PROGRAM)
    state = tmp_path / "state"
    for name, value in {
        "XDG_STATE_HOME": state, "RAY_raylet_start_wait_time_s": "200", "RAY_ADDRESS": "192.0.2.1:6379",
        "HOME": tmp_path,
    }.items():  # fmt: skip
        monkeypatch.setenv(name, str(value))
    words = ["rehearse", "--format", "json", "--", sys.executable, "program.py"]
    done = subprocess.run(
        [sys.executable, "-m", "doctor", *words], cwd=work, capture_output=True, text=True, timeout=390, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    report = json.loads(done.stdout)
    assert report["rehearsal"]["passes"][0]["exit"] == 0, report["findings"]
    reasons = [each["why"] for each in report["rehearsal"]["not_rehearsed"] if each["what"] == "ray"]
    assert reasons
    assert "(`auto`)" in reasons[0]
    (console,) = state.rglob("console.log")
    said = next(each for each in console.read_text().splitlines() if each.startswith("SAID"))
    assert said.startswith("SAID true ")
    assert said.endswith(":/mine"), "the hook comes before what the user named"


def test_rays_own_commands_start_and_stop_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import ray.dashboard.modules.job.cli as jobs
    from click.testing import CliRunner
    from ray.scripts import scripts

    set_up(tmp_path, monkeypatch)
    became: list[tuple[str, list[str]]] = []
    monkeypatch.setattr(os, "execvp", lambda word, words: became.append((word, words)))
    for command in (scripts.start, scripts.stop, scripts.up, scripts.down, jobs.submit, jobs.stop, jobs.delete):
        monkeypatch.setattr(command, "callback", _never)
    rays.programs(scripts)
    rays.jobs(jobs)
    for words in (["start", "--head"], ["start", "--address", "192.0.2.1:6379"], ["stop", "--force"]):
        assert CliRunner().invoke(scripts.cli, words).exit_code == 0, words
    submitted = ["job", "submit", "--address", "http://192.0.2.1:8265", "--", "python3", "-m", "verl.trainer.main_ppo"]
    assert CliRunner().invoke(scripts.cli, submitted).exit_code == 0
    assert became == [("python3", ["python3", "-m", "verl.trainer.main_ppo"])]


def _never(*_: Any, **__: Any) -> None:
    raise AssertionError("a cluster of the user's would be changed")

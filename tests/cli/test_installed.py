"""The doctor installed anew from a copy of this checkout: by pre-commit, by a GitHub Action, and without a compiler."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of its own with what git knows of this checkout, as it stands now."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("no git, or no checkout")
    folder = tmp_path_factory.mktemp("source") / "doctor"
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in filter(None, subprocess.run(listed, cwd=ROOT, capture_output=True, check=True).stdout.split(b"\0")):
        path = Path(os.fsdecode(name))
        if path.parts[0] == "tests" or not os.path.lexists(ROOT / path):
            continue
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / path, folder / path, follow_symlinks=False)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "all")
    return folder


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *who, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_pre_commit_runs_the_hook(source: Path, tmp_path: Path) -> None:
    if importlib.util.find_spec("pre_commit") is None:
        pytest.skip("pre-commit is not installed")
    project = tmp_path / "project"
    project.mkdir()
    (project / "train.py").write_text("print('trains')\n")
    hook = {"id": "doctor-check", "args": ["--", "python", "absent.py"], "verbose": True}
    repository = {"repo": source.as_uri(), "rev": git(source, "rev-parse", "HEAD"), "hooks": [hook]}
    (project / ".pre-commit-config.yaml").write_text(yaml.safe_dump({"repos": [repository]}))
    git(project, "init", "-q")
    git(project, "add", "-A")
    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", "run", "--all-files"], cwd=project, capture_output=True, text=True,
        env={**os.environ, "PRE_COMMIT_HOME": str(tmp_path / "cache")}, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    assert "LCH003" in done.stdout
    assert "hook id: doctor-check" in done.stdout


def run_action(source: Path, folder: Path, **inputs: str) -> tuple[int, Path]:
    """Do what the runner does: every step's shell in order; (exit code of the first that fails, its folder)."""
    action = yaml.safe_load((source / "action.yml").read_text())
    given = {name: inputs.get(name, each["default"]) for name, each in action["inputs"].items()}
    files = {name: str(folder / name.lower()) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    variables = {**os.environ, **files, "RUNNER_TEMP": str(folder), "GITHUB_ACTION_PATH": str(source)}
    for step in action["runs"]["steps"]:
        assert step["shell"] == "bash"
        assert "${{" not in step["run"], "words of others would become a part of the script"
        own = {name: given[value.strip("${} ").removeprefix("inputs.")] for name, value in step.get("env", {}).items()}
        script = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        done = subprocess.run(
            script, cwd=folder, env=variables | own, capture_output=True, text=True, check=False
        )  # fmt: skip
        (folder / "printed.txt").write_text(done.stdout + done.stderr)
        if done.returncode:
            return done.returncode, folder
    return 0, folder


def test_the_action_checks_a_command_and_says_where_its_report_lies(source: Path, tmp_path: Path) -> None:
    code, folder = run_action(source, tmp_path, command="python absent.py --name 'two words; touch injected'")
    printed = (folder / "printed.txt").read_text()
    assert code == 1, printed
    assert "::error" in printed
    assert "LCH003" in (folder / "github_step_summary").read_text()
    report = Path((folder / "github_output").read_text().strip().removeprefix("report="))
    assert json.loads(report.read_text())["findings"][0]["id"] == "LCH003"
    assert not (folder / "injected").exists()


def test_an_sdist_is_installed_where_no_compiler_is(source: Path, tmp_path: Path) -> None:
    for argv in (
        [sys.executable, "-m", "build", "--sdist", "--outdir", str(tmp_path / "dist"), str(source)],
        [sys.executable, "-m", "venv", str(tmp_path / "venv")],
        ["bash", "-c", f"exec {tmp_path}/venv/bin/pip install -q {tmp_path}/dist/*.tar.gz"],
    ):
        env = {**os.environ, "CC": "/bin/false", "CXX": "/bin/false"}
        done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    look = "import doctor.logs.read.quick as quick; print(quick.count_line_feeds is quick.plain_count_line_feeds)"
    python = tmp_path / "venv/bin/python"
    told = subprocess.run([python, "-c", look], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "True"
    (tmp_path / "train.log").write_text("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB\n")
    done = subprocess.run([tmp_path / "venv/bin/doctor", "postmortem", "train.log"], cwd=tmp_path, capture_output=True,
                          text=True, check=False)  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr


def test_a_pure_wheel_fits_every_platform_and_carries_licence_and_skill(source: Path, tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "build", "--wheel", "--outdir", str(tmp_path), str(source)]
    done = subprocess.run(argv, env={**os.environ, "DOCTOR_PURE": "1"}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert not [each for each in names if each.endswith(".so")]
    assert [each for each in names if each.endswith("/licenses/LICENSE")]
    assert "doctor/agents/skill/SKILL.md" in names

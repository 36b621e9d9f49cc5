"""Several doctors and an editor at one file: every line somebody saved stays, and only what was shown is changed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from .environments import bare_venv, lay, run_doctor, site_packages_of

SCRIPT = """\
from trl import GRPOConfig, GRPOTrainer
args = GRPOConfig(
    output_dir="out",
    max_prompt_length=512,
    num_generations=8,
    max_completion_length=256,
)
GRPOTrainer("m", len, args=args).train()
"""
DOCTORS = 6


@pytest.fixture
def patient(tmp_path: Path) -> Path:
    python = bare_venv(tmp_path / "v")
    for name, version in (("trl", "1.16.0"), ("transformers", "5.17.0")):
        lay(site_packages_of(python), {"name": name, "version": version, "metadata_version": "2.1"})
    (tmp_path / "train.py").write_text(SCRIPT)
    return python


def started(python: Path, folder: Path, number: int, *more: str) -> subprocess.Popen[str]:
    # a state folder each: what one user locks there, another user does not see
    env = {**os.environ, "XDG_STATE_HOME": str(folder / f"state{number}")}
    command = [sys.executable, "-m", "doctor", "fix", "TRL2205/removed", "--apply", "--yes", "--lang", "en", *more]
    return subprocess.Popen(
        [*command, "--python", str(python), "--", "python", "train.py"],
        cwd=folder, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def ended(doctors: list[subprocess.Popen[str]]) -> list[str]:
    told = [each.communicate(timeout=240) for each in doctors]
    assert all("Traceback" not in err for _, err in told), told
    return [out + err for out, err in told]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_doctors_at_once_change_what_one_would(patient: Path, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    told = ended([started(patient, tmp_path, number) for number in range(DOCTORS)])
    assert script.read_text() == SCRIPT.replace("    max_prompt_length=512,\n", "")
    assert sum("Done." in each for each in told) == 1, told


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("in_place", [True, False])
def test_an_editor_that_saves_loses_no_line(patient: Path, tmp_path: Path, in_place: bool) -> None:
    script, stop, saved = tmp_path / "train.py", threading.Event(), [0]

    def edit() -> None:  # moves what was found, line by line, as somebody who types does
        while not stop.wait(0.002):
            saved[0] += 1
            text = script.read_text()
            if text:
                text = f"# line {saved[0]}\n" + text
                target = script if in_place else tmp_path / "saved"
                target.write_text(text)
                if not in_place:
                    target.rename(script)

    editor = threading.Thread(target=edit)
    editor.start()
    try:
        ended([started(patient, tmp_path, number) for number in range(DOCTORS)])
    finally:
        stop.set()
        editor.join()
    lines = script.read_text().splitlines(keepends=True)
    mine = [each for each in lines if each.startswith("# line ")]
    rest = "".join(each for each in lines if not each.startswith("# line "))
    assert mine == [f"# line {number}\n" for number in range(saved[0], 0, -1)]
    assert rest in (SCRIPT, SCRIPT.replace("    max_prompt_length=512,\n", ""))


def test_all_safe_plans_are_carried_out_and_one_undo_takes_them_back(patient: Path, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        SCRIPT.replace('GRPOTrainer("m", len, args=args)', 'GRPOTrainer("m", len, args=args, tokenizer=None)').replace(
            "    num_generations=8,\n", "    num_generations=8,\n    auto_find_batch_size=True,\n"
        )
    )
    before = script.read_bytes()
    common = ("--python", str(patient), "--lang", "en", "--", "python", "train.py")
    env = {"XDG_STATE_HOME": str(tmp_path / "state")}
    shown = run_doctor("fix", "--all", *common, cwd=tmp_path, env=env)
    assert "Nothing is changed yet" in shown.stdout, shown.stdout + shown.stderr
    assert script.read_bytes() == before
    done = run_doctor("fix", "--all", "--apply", *common, cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "tokenizer=" not in script.read_text()
    assert "auto_find_batch_size=False" in script.read_text()
    assert "max_prompt_length=512" in script.read_text()
    assert "TRL2205/removed: it installs packages, or changes results" in done.stdout
    undone = run_doctor("fix", "--all", "--undo", "--lang", "en", cwd=tmp_path, env=env)
    assert undone.returncode == 0, undone.stderr
    assert script.read_bytes() == before
    assert undone.stdout.count("Undone") == 2


@pytest.mark.parametrize("option", ["--apply", "--undo"])
def test_what_changes_something_must_say_what(tmp_path: Path, option: str) -> None:
    done = run_doctor("fix", option, "--lang", "en", cwd=tmp_path)
    assert done.returncode == 2
    assert f"doctor fix --all {option}" in done.stderr


def test_without_a_problem_what_a_command_has_is_listed(patient: Path, tmp_path: Path) -> None:
    """Words behind `--` are no problem's name, with or without a problem, and are remembered for the next step."""
    env = {"XDG_STATE_HOME": str(tmp_path / "state")}
    listed = run_doctor(
        "fix", "--python", str(patient), "--lang", "en", "--", "python", "train.py", cwd=tmp_path, env=env
    )
    assert listed.returncode == 0, listed.stderr
    assert "  TRL2205/removed " in listed.stdout
    shown = run_doctor("fix", "TRL2205/removed", "--lang", "en", cwd=tmp_path, env=env)
    assert "-    max_prompt_length=512," in shown.stdout, shown.stdout + shown.stderr
    refused = run_doctor("fix", "TRL2205/removed", "--all", "--lang", "en", cwd=tmp_path, env=env)
    assert "exclude each other" in refused.stderr
    assert (tmp_path / "train.py").read_text() == SCRIPT

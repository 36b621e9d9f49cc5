"""`doctor fix` on a real GRPO run: shown, applied, checked again, taken back byte for byte."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.catalogue.plan import Plan, Safety, SetEnv
from doctor.mend import journal

from .conftest import Run
from .environments import bare_venv, lay, run_doctor, site_packages_of

SampleRun = Callable[[str], Run]
COMMAND = ["accelerate", "launch", "--config_file", "zero2.yaml", "train_grpo.py"]

#: id -> (file that changes, what is gone from it, what stands there instead)
MENDED = {
    "ACC001": ("zero2.yaml", "zero_stage: 2", None),
    "LCH5095/processes": ("zero2.yaml", "num_processes: 16", "num_processes: 8"),
    "DSP004": ("zero2.json", '"gradient_accumulation_steps": 4', '"gradient_accumulation_steps": "auto"'),
    "TRL2205/removed": ("train_grpo.py", "max_prompt_length=512", None),
    "TRL2205/transformers_removed": ("train_grpo.py", "evaluation_strategy=", "eval_strategy="),
    "TRL3814/groups": ("train_grpo.py", "gradient_accumulation_steps=8", "gradient_accumulation_steps=9"),
    "NUM001": ("train_grpo.py", " fp16=True", " bf16=True"),
}


def fix(run: Run, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_doctor("fix", *arguments, cwd=run.folder, env=run.env)


def contents(run: Run) -> dict[str, bytes]:
    return {str(each): each.read_bytes() for each in run.folder.rglob("*") if each.is_file()}


@pytest.mark.process
@pytest.mark.parametrize("problem", MENDED)
def test_a_fix_is_shown_applied_and_taken_back(sample_run: SampleRun, problem: str) -> None:
    run = sample_run("faulty")
    before = contents(run)
    file, old, new = MENDED[problem]
    shown = fix(run, problem, "--", *COMMAND)
    assert shown.returncode == 0, shown.stderr
    assert old in shown.stdout
    assert "Nothing is changed yet" in shown.stdout
    assert contents(run) == before
    done = fix(run, problem, "--apply", "--yes", "--", *COMMAND)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{problem} is no longer found" in done.stdout
    changed = contents(run)
    assert [Path(each).name for each in changed if changed[each] != before[each]] == [file]
    text = (run.folder / file).read_text()
    assert old not in text
    assert new is None or new in text
    undone = fix(run, problem, "--undo")
    assert undone.returncode == 0, undone.stderr
    assert contents(run) == before


@pytest.mark.process
def test_what_the_last_check_found_is_listed_and_its_command_is_remembered(sample_run: SampleRun) -> None:
    run = sample_run("faulty")
    report = run.check()
    offered = {each["id"] for each in report["findings"] if each["remedy"]["fix"]}
    assert MENDED.keys() <= offered
    listed = fix(run)
    assert all(f"  {each} " in listed.stdout for each in offered)
    assert "num_processes: 8" in fix(run, "LCH5095/processes").stdout


def test_the_interpreter_of_the_last_check_is_remembered(tmp_path: Path) -> None:
    python = bare_venv(tmp_path / "v")
    for name, version in (("trl", "1.16.0"), ("transformers", "5.17.0")):
        lay(site_packages_of(python), {"name": name, "version": version, "metadata_version": "2.1"})
    (tmp_path / "train.py").write_text(
        "from trl import GRPOConfig, GRPOTrainer\n"
        "args = GRPOConfig('out', per_device_train_batch_size=3, num_generations=4)\n"
        "GRPOTrainer('m', len, args=args).train()\n"
    )
    state = {"XDG_STATE_HOME": str(tmp_path / "state")}
    run_doctor("check", "--python", str(python), "--", "python", "train.py", cwd=tmp_path, env=state)
    done = run_doctor("fix", "TRL3814/groups", "--lang", "en", cwd=tmp_path, env=state)
    assert "+args = GRPOConfig" in done.stdout, done.stdout + done.stderr


@pytest.mark.process
def test_what_changes_the_computation_asks_first(sample_run: SampleRun) -> None:
    run = sample_run("faulty")
    before = contents(run)
    refused = fix(run, "LCH5095/processes", "--apply", "--", *COMMAND)
    assert refused.returncode == 2
    assert "--yes" in refused.stderr
    assert contents(run) == before


@pytest.mark.process
def test_a_file_changed_since_is_not_overwritten(sample_run: SampleRun) -> None:
    run = sample_run("faulty")
    assert fix(run, "TRL2205/transformers_removed", "--apply", "--", *COMMAND).returncode == 0
    script = run.folder / "train_grpo.py"
    script.write_text(script.read_text() + "# mine\n")
    before = contents(run)
    refused = fix(run, "TRL2205/transformers_removed", "--undo")
    assert refused.returncode == 2
    assert "was changed since" in refused.stderr
    assert contents(run) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("NOPE1",), "unknown problem `NOPE1`"),
        (("VLL001", "--undo"), "no plan for VLL001"),
        (("--bogus",), "No such option"),
    ],
)
def test_wrong_use_is_told(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    done = run_doctor("fix", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_nothing_found_here_is_said(tmp_path: Path) -> None:
    assert "No plan fixes what" in run_doctor("fix", cwd=tmp_path).stdout
    assert "最近一次" in run_doctor("fix", "--lang", "zh", cwd=tmp_path).stdout


def test_what_cannot_be_judged_is_not_called_absent(tmp_path: Path) -> None:
    done = run_doctor("fix", "LCH5095/processes", "--", "torchrun", "--nproc_per_node", "4", "train.py", cwd=tmp_path)
    assert "Could not judge whether" in done.stdout


def test_a_problem_without_a_plan_points_to_its_manual(tmp_path: Path) -> None:
    assert "doctor explain HST001" in run_doctor("fix", "HST001", cwd=tmp_path).stdout


@pytest.mark.process
@pytest.mark.parametrize("beside", ["", "        bf16=False,\n"])
def test_fp16_gives_way_to_bf16_whatever_stands_beside_it(sample_run: SampleRun, beside: str) -> None:
    run = sample_run("faulty")
    script = run.folder / "train_grpo.py"
    script.write_text(script.read_text().replace("        bf16=True,\n", beside))
    done = fix(run, "NUM001", "--apply", "--yes", "--", *COMMAND)
    assert done.returncode == 0, done.stdout + done.stderr
    text = script.read_text()
    assert "fp16" not in text.replace("bf16", "")
    assert text.count("bf16=True") == 1
    compile(text, str(script), "exec")


def test_what_a_log_shows_is_offered_and_asks_for_the_command(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(
        "Traceback (most recent call last):\n"
        '  File "train.py", line 9, in <module>\n'
        "    config = GRPOConfig(evaluation_strategy='steps')\n"
        "TypeError: GRPOConfig.__init__() got an unexpected keyword argument 'evaluation_strategy'\n"
    )
    died = run_doctor("postmortem", "train.log", cwd=tmp_path)
    assert "doctor fix TRL2205/transformers_removed" in died.stdout
    assert "TRL2205/transformers_removed" in run_doctor("fix", cwd=tmp_path).stdout
    asked = run_doctor("fix", "TRL2205/transformers_removed", cwd=tmp_path)
    assert "doctor fix TRL2205/transformers_removed -- COMMAND" in asked.stdout


def test_what_cannot_be_taken_back_does_not_keep_from_looking(tmp_path: Path) -> None:
    env = tmp_path / ".env"
    entry = journal.apply(Plan("NUM001", Safety.SAFE, (SetEnv(str(env), "A", "1"),)), tmp_path)
    entry.data["state"] = journal.BEGUN  # as a doctor leaves it that was killed before the last write
    entry.keep()
    env.write_text("A=2\n")
    listed = run_doctor("fix", cwd=tmp_path)
    assert listed.returncode == 0, listed.stderr
    assert "was changed since" in listed.stderr
    assert env.read_text() == "A=2\n"


def test_a_home_that_cannot_be_written_does_not_keep_from_looking(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    env = {"XDG_STATE_HOME": str(tmp_path / "file"), "PATH": os.environ["PATH"]}
    listed = run_doctor("fix", cwd=tmp_path, env=env)
    assert listed.returncode == 0, listed.stderr

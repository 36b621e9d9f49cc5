"""What leads others to the doctor: reports in brief, the skill for agents, completions, fixes within a folder."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from doctor.agents import guidance
from doctor.cli.app import COMMANDS
from doctor.diagnosis.brief import FINDINGS, brief_of
from doctor.diagnosis.brief_schema import BRIEF
from doctor.run.folder import RunDir
from tests.commands import run_doctor

pytestmark = pytest.mark.process

_LOG = """\
Traceback (most recent call last):
  File "/srv/train.py", line 12, in <module>
    trainer.train()
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 79.15 GiB of \
which 3.00 GiB is free.
"""


def test_a_report_in_brief_follows_its_schema(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(_LOG)
    for words in (("postmortem", "train.log"), ("check", "--", "python", "absent.py")):
        place = words.index("--") if "--" in words else len(words)
        done = run_doctor(*words[:place], "--format", "json", "--brief", *words[place:], cwd=tmp_path)
        assert done.returncode == 1, done.stderr
        report = json.loads(done.stdout)
        Draft202012Validator(BRIEF).validate(report)
        assert report["command"] == words[0]
        assert report["summary"]["errors"] == 1
        assert report["findings"][0]["severity"] == "error"
    assert json.loads(run_doctor("schema", "brief", cwd=tmp_path).stdout) == BRIEF


def test_a_report_in_brief_is_bounded_and_counts_what_it_leaves_out(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(_LOG)
    done = run_doctor("postmortem", "train.log", "--format", "json", cwd=tmp_path)
    report = json.loads(done.stdout)
    long = "x" * 10_000
    finding = {**report["findings"][0], "headline": long, "explanation": long}
    finding["evidence"] = [{"source": "train.log", "line": n, "text": long} for n in range(50)]
    finding["remedy"] = {**finding["remedy"], "text": long, "commands": [long] * 50}
    brief = brief_of({**report, "findings": [finding] * 100})
    Draft202012Validator(BRIEF).validate(brief)
    assert brief["summary"]["left_out"] == 100 - FINDINGS
    assert brief["summary"]["errors"] == 100
    assert len(json.dumps(brief)) < 60_000


def test_what_a_user_ignores_is_nothing_that_could_not_be_judged(tmp_path: Path) -> None:
    report = json.loads(run_doctor("check", "--format", "json", cwd=tmp_path).stdout)
    skipped = [{"id": "GPU001", "reason": "ignored", "ignored": True}, {"id": "GPU002", "reason": "no driver"}]
    brief = brief_of({**report, "skipped": skipped})
    assert brief["summary"]["not_judged"] == 1
    assert "ignored" not in json.dumps(brief["not_judged"])
    assert "no driver" in json.dumps(brief["not_judged"])


def test_brief_is_a_form_of_json_alone(tmp_path: Path) -> None:
    done = run_doctor("check", "--brief", cwd=tmp_path)
    assert done.returncode == 2
    assert "--brief needs --format json" in done.stderr


def test_the_skill_follows_the_specification() -> None:
    _, head, body = guidance.skill().split("---\n", 2)
    fields = yaml.safe_load(head)
    assert fields["name"] == guidance.NAME == guidance.PLACES[0].parent.name
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", fields["name"])
    assert 0 < len(fields["description"]) <= 1024
    assert not set("<>") & set(fields["description"])
    assert len(fields["compatibility"]) <= 500
    assert len(body.splitlines()) < 500


def test_what_agents_are_told_names_commands_that_exist() -> None:
    named = set(re.findall(r"`doctor (\w+)", guidance.skill() + guidance.rules()))
    assert named
    assert named <= set(COMMANDS), named - set(COMMANDS)


def test_the_skill_is_installed_and_nothing_else_is_overwritten(tmp_path: Path) -> None:
    assert run_doctor("agents", "--install", cwd=tmp_path).returncode == 0
    assert run_doctor("agents", "--install", cwd=tmp_path).returncode == 0  # ours is renewed
    for each in guidance.PLACES:
        assert (tmp_path / each).read_text() == guidance.skill()
    (tmp_path / guidance.PLACES[1]).write_text("somebody's own")
    done = run_doctor("agents", "--install", cwd=tmp_path)
    assert done.returncode == 2
    assert "is not overwritten" in done.stderr
    assert (tmp_path / guidance.PLACES[1]).read_text() == "somebody's own"


def test_what_agents_prints(tmp_path: Path) -> None:
    assert run_doctor("agents", cwd=tmp_path).stdout == guidance.skill()
    assert run_doctor("agents", "--rules", cwd=tmp_path).stdout == guidance.rules()
    settings = json.loads(run_doctor("agents", "--mcp", cwd=tmp_path).stdout)
    assert settings["mcpServers"]["doctor"]["args"] == ["mcp"]
    assert run_doctor("agents", "--user", cwd=tmp_path).returncode == 2


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_git_sees_nothing_of_a_run_folder(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    run = RunDir.create("python", tmp_path / "doctor-runs")
    run.write_run(argv=["python", "train.py"])
    (tmp_path / "train.py").touch()
    seen = subprocess.run(["git", "status", "--short"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert seen.stdout == "?? train.py\n"


def test_the_server_says_what_it_needs(tmp_path: Path) -> None:
    hidden = "import sys; sys.modules['mcp'] = None; from doctor.__main__ import main; main()"
    argv = [sys.executable, "-c", hidden, "mcp"]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "needs the package mcp" in done.stderr
    assert f"{sys.executable} -m pip install 'mcp>=2'" in done.stderr


def test_bash_completes_commands_and_options(tmp_path: Path) -> None:
    script = r"""
        eval "$(doctor completion bash)"
        complete -p doctor grpo-doctor >&2
        COMP_WORDS=(doctor pos); COMP_CWORD=1; _doctor_completion doctor; echo "${COMPREPLY[*]}"
        COMPREPLY=(); COMP_WORDS=(doctor check --form); COMP_CWORD=2; _doctor_completion doctor; echo "${COMPREPLY[*]}"
        COMPREPLY=(); COMP_WORDS=(grpo-doctor report --form); COMP_CWORD=2
        _grpo_doctor_completion grpo-doctor; echo "${COMPREPLY[*]}"
    """
    told = _shell("bash", ["--norc", "--noprofile", "-euc", script], tmp_path)
    assert told.splitlines() == ["postmortem", "--format", "--format"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_accept_their_completions(shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    script = {
        "zsh": 'autoload -Uz compinit && compinit -D && eval "$(doctor completion zsh)" && echo $_comps[doctor]',
        "fish": "doctor completion fish | source; complete -C 'doctor pos'",
    }[shell]
    told = _shell(shell, ["-c", script], tmp_path)
    assert told.split()[0] == {"zsh": "_doctor_completion", "fish": "postmortem"}[shell]


def _shell(shell: str, arguments: list[str], folder: Path) -> str:
    """What a shell prints, with this environment's programs before all others."""
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    done = subprocess.run(
        [shell, *arguments], cwd=folder, env={"PATH": path, "HOME": str(Path.home()), "TERM": "dumb"},
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    return done.stdout

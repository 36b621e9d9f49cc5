"""Reports and their remedies: what a log says is set is not advised, and a bug of ours costs the trial alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.base.fact import Context
from doctor.diagnosis import remedies
from doctor.diagnosis.diagnose import Patient, diagnose
from doctor.logs.postmortem import examine
from tests.checks.cases import states

FAILED = (
    "node1:100:200 [0] transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer 10.0.0.2<46000> with "
    "status=12 opcode=0 len=0 vendor err 129\n"
)


@pytest.mark.parametrize(
    ("line", "again"),
    [
        ("node1:100:200 [0] NCCL INFO NCCL_IB_GID_INDEX set by environment to 3.\n", True),
        ("[rank3]: node1:100:200 [3] NCCL INFO NCCL_IB_GID_INDEX set by environment to 3\n", True),
        ("node1:100:200 [0] NCCL INFO NCCL_IB_GID_INDEX set by environment to 5.\n", False),
        ("", False),
    ],
)
def test_what_the_log_says_is_set_is_not_advised(line: str, again: bool, tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text(line + FAILED)
    finding = examine([str(log)]).diagnosis.outcome.findings[0]
    assert finding.problem.id == "NCC014"
    for language, said in (("en", "`NCCL_IB_GID_INDEX=3` is already set"), ("zh", "`NCCL_IB_GID_INDEX=3` 已经设置")):
        assert (said in finding.words(language).remedy) == again


def test_what_the_context_says_is_set_is_not_advised(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text(FAILED)
    (tmp_path / "run.sh").write_text("export NCCL_IB_GID_INDEX=3\ntorchrun train.py\n")
    result = examine([str(tmp_path / "log.txt")], context=[tmp_path / "run.sh"])
    assert "is already set" in result.diagnosis.outcome.findings[0].words().remedy


def test_a_bug_of_ours_costs_the_trial_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(remedies, "reviewed", broken)
    (tmp_path / "log.txt").write_text(FAILED)
    died = examine([str(tmp_path / "log.txt")]).diagnosis.outcome
    (tmp_path / "t.py").write_text("from trl import GRPOConfig\nGRPOConfig(output_dir='o', fp16=True, bf16=True)\n")
    given = states({"packages": {"trl": "0.20.0", "transformers": "4.53.0"}}, {})
    diagnosis, _ = diagnose(Context(("python", "t.py"), tmp_path, {}), [Patient(given, "a file")])
    for outcome in (died, diagnosis.outcome):
        assert outcome.findings
        assert [each.id for each in outcome.crashed] == ["remedies"]


def test_a_report_orders_no_range_that_its_python_cannot_have(tmp_path: Path) -> None:
    (tmp_path / "t.py").write_text("from trl import GRPOConfig, GRPOTrainer\nGRPOConfig(output_dir='o')\n")
    facts = {
        "interpreter": {"executable": "/v/bin/python", "version": "3.8.10"},
        "packages": {"trl": "0.11.4", "torch": "2.4.1", "transformers": "4.46.3", "accelerate": "1.0.1"},
    }
    diagnosis, _ = diagnose(Context(("python", "t.py"), tmp_path, {}), [Patient(states(facts, {}), "a file")])
    commands = [command for each in diagnosis.outcome.findings for command in each.commands]
    assert diagnosis.outcome.findings
    assert not [command for command in commands if command.startswith("pip install") and "trl" in command]


@pytest.mark.parametrize("there", [True, False])
def test_no_module_is_started_of_a_package_that_is_absent(there: bool, tmp_path: Path) -> None:
    packages = {"trl": "0.20.0", "transformers": "4.53.0", **({"accelerate": "1.8.0"} if there else {})}
    given = states({"packages": packages, "commands": {"found": {}}}, {})
    diagnosis, _ = diagnose(Context(("accelerate", "launch", "t.py"), tmp_path, {}), [Patient(given, "a file")])
    found = next(each for each in diagnosis.outcome.findings if each.problem.id == "LCH002")
    assert found.commands == (("python -m accelerate.commands.launch t.py",) if there else ())
    assert ("comes with accelerate, which is not installed" in found.words().remedy) is not there

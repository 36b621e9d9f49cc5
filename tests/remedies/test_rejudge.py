"""A change is judged by the checks that it can reach alone, and says what all of them would say."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from doctor.diagnosis import rejudge
from doctor.diagnosis.proving import tried
from doctor.diagnosis.runner import run_checks
from doctor.readers.collector import about_command, provider
from doctor.readers.homes import READERS
from tests.case_files import read_cases
from tests.remedies.test_proving import CASES, judged

#: with settings of a script, a launcher's file, DeepSpeed's JSON, options, variables, versions, veRL and Trinity-RFT
TRIED = (
    "TRL3814/groups", "TRF010", "NUM003", "DSP004", "LCH5095/processes", "NCC007", "VRL3088/micro_unclear", "PFT002",
    "GPU7876/vllm_bf16", "PYT3270/deepspeed", "TRL005",
)  # fmt: skip


@pytest.mark.parametrize("problem", TRIED)
def test_the_checks_that_a_change_can_reach_say_all_that_is_to_be_said(
    problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[Any, Any]] = []
    incremental = rejudge._judged_again

    def both(entries: Any, before: Any, now: Any, *rest: Any) -> Any:
        found = incremental(entries, before, now, *rest)
        seen.append((found, run_checks(entries, now)))
        return found

    monkeypatch.setattr(rejudge, "_judged_again", both)
    for number, case in enumerate(read_cases(CASES / f"{problem}.yaml").values()):
        if "found" in case and "files" in case:
            (tmp_path / str(number)).mkdir()
            given = judged(case, tmp_path / str(number))
            for finding in given.outcome.findings:
                for command in finding.commands:
                    tried(command, finding, given)
    for found, whole in seen:
        for name in ("findings", "skipped", "crashed"):
            ours, all_of_them = (
                Counter(each.problem.id if name == "findings" else each.id for each in getattr(outcome, name))
                for outcome in (found, whole)
            )
            assert ours == all_of_them, name


def test_most_checks_are_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[int] = []
    run = rejudge.run_checks

    def counted(*given: Any) -> Any:
        outcome = run(*given)
        counts.append(outcome.checks_run)
        return outcome

    monkeypatch.setattr(rejudge, "run_checks", counted)
    given = judged(read_cases(CASES / "NUM003.yaml")["read_from_a_real_script"], tmp_path)
    (finding,) = (each for each in given.outcome.findings if each.problem.id == "NUM003")
    assert tried(finding.commands[0], finding, given).result == "mends"
    assert 0 < max(counts) < given.outcome.checks_run / 2


def test_no_fact_of_the_command_rests_on_what_is_installed() -> None:
    def rests_on(name: str) -> set[str]:
        wanted = {need for need, _ in provider(name).wants.values()} - {"context"}
        return wanted.union(*map(rests_on, wanted))

    of_command = {each for each in READERS if about_command(each)}
    assert {"launch", "script", "training", "dataset"} <= of_command
    assert [each for each in sorted(of_command) if "packages" in rests_on(each)] == []
    assert "packages" in rests_on("cuda")

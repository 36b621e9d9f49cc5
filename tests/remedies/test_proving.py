"""Remedies carried out on a copy: the whole catalogue's cases, each tongue, and what `doctor check` prints of it."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from doctor.base.fact import Context
from doctor.catalogue.finding import Finding
from doctor.catalogue.index import load
from doctor.cli.app import app
from doctor.diagnosis.offers import Judged
from doctor.diagnosis.proving import Trial, proven, tried
from doctor.diagnosis.runner import facts_needed, run_checks
from tests.case_files import read_cases
from tests.checks.cases import states
from tests.collected import InTurn

ENTRIES = tuple(load())
CASES = Path(__file__).parent.parent / "checks"


def judged(case: Mapping[str, Any], folder: Path) -> Judged:
    """All checks over the files and facts of a case."""
    for name, text in case.get("files", {}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    given = states(case.get("facts", {}), case.get("unavailable", {}))
    context = Context(tuple(shlex.split(case.get("command", ""))), folder, case.get("environ", {}))
    collector = InTurn(context, given, from_file="the case")
    collector.ask(facts_needed(ENTRIES) - {"cluster"})
    return Judged(ENTRIES, run_checks(ENTRIES, collector.world), collector)


def trials(folder: Path) -> Iterator[Trial]:
    """Every command that a case of the catalogue's checks prints, carried out."""
    for path in sorted(CASES.rglob("*.yaml")):
        identity = path.relative_to(CASES).with_suffix("").as_posix()  # of a row: TABLE/row
        for number, case in enumerate(read_cases(path).values()):
            if "found" not in case:
                continue
            here = folder / f"{identity.replace('/', '-')}-{number}"
            here.mkdir()
            given = judged(case, here)
            for finding in given.outcome.findings:
                if finding.problem.id == identity:
                    yield from (tried(command, finding, given) for command in finding.commands)


@pytest.mark.slow
def test_the_remedies_of_the_catalogue_mend_what_they_are_for(tmp_path: Path) -> None:
    results, untried = Counter[str](), Counter[str]()
    failed = set()
    for trial in trials(tmp_path):
        results[trial.result] += 1
        if trial.result == "untried":
            untried[trial.why.replace(str(tmp_path), "")] += 1
        elif trial.result == "fails":
            failed.add((trial.finding.problem.id, trial.command))
    print(f"{results['mends']} mend, {results['fails']} fail, {results['untried']} untried:")  # noqa: T201 - what was not tried is told
    for why, count in untried.most_common():
        print(f"{count:5} {why}")  # noqa: T201
    assert not failed
    assert results["mends"] > 270


SCRIPT = """from trl import GRPOConfig, GRPOTrainer
def reward(completions, **kwargs): return [0.0 for _ in completions]
args = GRPOConfig(output_dir="o", {settings})
GRPOTrainer(model="m", reward_funcs=reward, args=args, train_dataset=d).train()
"""
FACTS = {"packages": {"trl": "0.22.0", "transformers": "4.56.0", "torch": "2.8.0", "accelerate": "1.10.1"}}


def of_script(settings: str, folder: Path, command: str = "python train.py", **facts: Any) -> Judged:
    case = {"command": command, "files": {"train.py": SCRIPT.format(settings=settings)}, "facts": {**FACTS, **facts}}
    return judged(case, folder)


def one(given: Judged, identity: str) -> Finding:
    return next(each for each in given.outcome.findings if each.problem.id == identity)


def test_a_value_that_does_not_count_fails_and_one_that_does_mends(tmp_path: Path) -> None:
    facts = {"packages": {**FACTS["packages"], "trl": "0.16.1"}, "gpus": {"gpus": [{"index": 0}]}}
    given = of_script("num_generations=3, per_device_train_batch_size=2", tmp_path, **facts)
    finding = one(given, "TRL3814/groups")
    before = (tmp_path / "train.py").read_bytes()
    assert tried("gradient_accumulation_steps=3", finding, given).result == "fails"  # in 0.16 it does not count
    assert tried("per_device_train_batch_size=3", finding, given).result == "mends"
    assert tried("num_generations=2", finding, given).result == "mends"
    assert tried("num_generations=5", finding, given).result == "fails"
    assert (tmp_path / "train.py").read_bytes() == before


def test_a_remedy_that_leads_into_another_error_is_withdrawn(tmp_path: Path) -> None:
    given = of_script("bf16=True, fp16=True, num_generations=2, per_device_train_batch_size=2", tmp_path)
    finding = one(given, "TRF006")
    assert tried("fp16=False", finding, given).result == "mends"
    both = tried("fp16=False, num_generations=3", finding, given)
    assert (both.result, both.why) == ("fails", "TRL3814/groups")


def test_what_stood_behind_a_misspelt_name_is_not_held_against_it(tmp_path: Path) -> None:
    given = of_script('evaluation_strategy="steps", per_device_train_batch_size=8', tmp_path)
    trial = tried('eval_strategy="steps"', one(given, "TRL2205/transformers_removed"), given)
    assert trial.result == "mends"


@pytest.mark.parametrize(
    "command", ["nvidia-smi", "pip install flash-attn --no-build-isolation", "no_argument=1",
                "pip install never-heard-of-it", "--no_option 1", "accelerate launch SCRIPT"],
)  # fmt: skip
def test_what_cannot_be_tried_says_why_and_stays(command: str, tmp_path: Path) -> None:
    given = of_script("bf16=True, fp16=True", tmp_path)
    trial = tried(command, one(given, "TRF006"), given)
    assert trial.result == "untried"
    assert trial.why


@pytest.mark.parametrize("text", ["", "x = (\n", "# -*- coding: latin-1 -*-\n# \xe9\n", "\x00"])
def test_a_script_that_changed_meanwhile_costs_only_the_trial(text: str, tmp_path: Path) -> None:
    given = of_script("bf16=True, fp16=True", tmp_path)
    (tmp_path / "train.py").write_text(text)
    assert tried("fp16=False", one(given, "TRF006"), given).result == "untried"
    (tmp_path / "train.py").unlink()
    assert tried("fp16=False", one(given, "TRF006"), given).result == "untried"
    assert proven(given) == (given.outcome.findings, ())


def test_the_search_for_the_one_that_fails_ends_in_time(tmp_path: Path) -> None:
    given = of_script("num_generations=3, per_device_train_batch_size=2, fp16=True, bf16=True", tmp_path,
                      world={"processes": 1})  # fmt: skip
    kept, withdrawn = proven(given, limit_s=-1.0)
    assert withdrawn == ()
    assert [each.commands for each in kept] == [each.commands for each in given.outcome.findings]


@pytest.mark.process
def test_the_report_has_the_changes_as_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(SCRIPT.format(settings="bf16=True, fp16=True"))
    result = CliRunner().invoke(app, ["check", "--format", "json", "--", "python", "train.py"])
    remedy = next(each["remedy"] for each in json.loads(result.output)["findings"] if each["id"] == "TRF006")
    assert remedy["commands"] == ["fp16=False"]
    assert remedy["changes"] == [{"command": 0, "kind": "setting", "name": "fp16", "old": True, "new": False}]

"""Every fix on files that a check has read: the problem is gone, nothing else changed, and all of it can be undone."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from doctor.base.evidence import Observed
from doctor.base.fact import Context
from doctor.catalogue.fix import Fix, fixable, load_fix
from doctor.catalogue.index import Entry, load
from doctor.catalogue.outcome import Outcome
from doctor.catalogue.plan import Plan
from doctor.diagnosis.offers import Judged, offer, offered
from doctor.diagnosis.runner import facts_needed, run_checks
from doctor.mend import journal
from tests.case_files import read_cases
from tests.checks.cases import build_fact
from tests.collected import InTurn

ENTRIES = {each.id: each for each in load()}
CASES: Mapping[str, Mapping[str, Any]] = read_cases(Path(__file__).parent / "plans.yaml")
PREAMBLE = "import os\nfrom trl import GRPOConfig, GRPOTrainer\n"


def judged(entry: Entry, fix: Fix, case: Mapping[str, Any], folder: Path) -> tuple[Outcome, Any]:
    """What the check says of the files as they are, and the facts."""
    given = {name: Observed.seen(build_fact(name, dict(each))) for name, each in case.get("facts", {}).items()}
    context = Context(tuple(shlex.split(case.get("command", "python train.py"))), folder, case.get("environ", {}))
    collector = InTurn(context, given, from_file="the case")
    collector.ask({*facts_needed([entry]), *(name for name, _ in fix.facts.values())})
    outcome = run_checks([entry], collector.world)
    assert not outcome.crashed, outcome.crashed[0].traceback
    return outcome, collector.states


def judged_by_all(case: Mapping[str, Any], folder: Path, fix: Fix) -> Judged:
    """All checks over the files of a case and its facts."""
    given = {name: Observed.seen(build_fact(name, dict(each))) for name, each in case.get("facts", {}).items()}
    context = Context(tuple(shlex.split(case.get("command", "python train.py"))), folder, case.get("environ", {}))
    collector = InTurn(context, given, from_file="the case")
    collector.ask({*facts_needed(ENTRIES.values()), *(name for name, _ in fix.facts.values())} - {"cluster"})
    return Judged(tuple(ENTRIES.values()), run_checks(ENTRIES.values(), collector.world), collector)


def prepared(name: str, tmp_path: Path) -> tuple[Entry, Fix, Path]:
    folder = tmp_path / "my project"
    for file, text in CASES[name].get("files", {}).items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text.replace("PREAMBLE\n", PREAMBLE))
    entry = ENTRIES[name.partition(" ")[0]]
    fix = load_fix(entry)
    assert fix is not None
    return entry, fix, folder


def planned(name: str, tmp_path: Path) -> tuple[Plan | None, Outcome, Entry, Fix, Path]:
    entry, fix, folder = prepared(name, tmp_path)
    outcome, states = judged(entry, fix, CASES[name], folder)
    assert outcome.findings, outcome.skipped
    return fix.plan(outcome.findings, states), outcome, entry, fix, folder


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if "changes" in case])
def test_mended_and_taken_back(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my project").mkdir()
    monkeypatch.chdir(tmp_path / "my project")
    plan, _, entry, fix, folder = planned(name, tmp_path)
    assert plan is not None
    assert plan.safety.value == CASES[name].get("safety", "unsafe")
    assert bool(plan.note) == bool(plan.note_zh)
    before = {each: each.read_bytes() for each in folder.rglob("*") if each.is_file()}
    entry_done = journal.apply(plan, folder)
    for file, pairs in CASES[name]["changes"].items():
        wanted = before[folder / file].decode()
        for old, new in pairs:
            assert wanted.count(old) == 1, f"{old!r} stands {wanted.count(old)} times"
            wanted = wanted.replace(old, new)
        assert (folder / file).read_text() == wanted
    changed = {each.name for each in before if each.read_bytes() != before[each]}
    assert changed == {Path(each).name for each in CASES[name]["changes"]}
    if not CASES[name].get("stays"):  # what a shell has loaded stays until it loads it anew; fp16 stays where it must
        assert judged(entry, fix, CASES[name], folder)[0].findings == ()
    journal.undo(entry_done)
    assert {each: each.read_bytes() for each in folder.rglob("*") if each.is_file()} == before


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if "changes" in case])
def test_what_is_offered_was_tried_on_the_whole_catalogue(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # judged as the files would be, the problem is gone and nothing as grave has come; the files stay as they are
    (tmp_path / "my project").mkdir()
    monkeypatch.chdir(tmp_path / "my project")
    entry, fix, folder = prepared(name, tmp_path)
    before = {each: each.read_bytes() for each in folder.rglob("*") if each.is_file()}
    judged_all = judged_by_all(CASES[name], folder, fix)
    made = offer(entry, judged_all)
    assert made is not None
    assert made.verdict is not None
    assert made.holds, made.verdict
    assert entry.id in offered(judged_all)
    assert {each: each.read_bytes() for each in folder.rglob("*") if each.is_file()} == before


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if "changes" not in case])
def test_what_no_plan_can_mend_is_not_advertised(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my project").mkdir()
    monkeypatch.chdir(tmp_path / "my project")
    entry, fix, folder = prepared(name, tmp_path)
    assert entry.id not in offered(judged_by_all(CASES[name], folder, fix))


def test_every_fix_has_a_case_that_is_carried_out() -> None:
    mended = {name.partition(" ")[0] for name, case in CASES.items() if "changes" in case}
    # by hand, on sample runs and installed files: tests/e2e
    elsewhere = {
        "ACC001",
        "DSP004",
        "LCH5095/processes",
        "TRL2205/removed",
        "TRL3814/groups",
        "TRL2205/transformers_removed",
        "VLL001",
    }
    assert fixable(ENTRIES.values()) - mended - elsewhere == set()


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if "changes" not in case])
def test_what_no_plan_can_mend_gets_none(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my project").mkdir()
    monkeypatch.chdir(tmp_path / "my project")
    assert planned(name, tmp_path)[0] is None

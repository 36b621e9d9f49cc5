"""Every fix on files that a check has read: the problem is gone, nothing else changed, and all of it can be undone."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from doctor.core import journal
from doctor.core.fixes import Fix, load_fix
from doctor.core.index import Entry, load
from doctor.core.outcome import Outcome
from doctor.core.plan import Plan
from doctor.core.runner import facts_needed, run_checks
from doctor.facts.base import Context, FactState
from doctor.facts.collector import Collector
from tests.case_files import read_cases
from tests.checks.cases import build_fact

ENTRIES = {each.id: each for each in load()}
CASES: Mapping[str, Mapping[str, Any]] = read_cases(Path(__file__).parent / "plans.yaml")
PREAMBLE = "import os\nfrom trl import GRPOConfig, GRPOTrainer\n"


def judged(entry: Entry, fix: Fix, case: Mapping[str, Any], folder: Path) -> tuple[Outcome, Any]:
    """What the check says of the files as they are, and the facts."""
    given = {name: FactState("ok", build_fact(name, dict(each))) for name, each in case.get("facts", {}).items()}
    context = Context(tuple(shlex.split(case.get("command", "python train.py"))), folder, case.get("environ", {}))
    collector = Collector(context, given, from_file="the case")
    collector.ask({*facts_needed([entry]), *(name for name, _ in fix.facts.values())})
    outcome = run_checks([entry], collector.states)
    assert not outcome.crashed, outcome.crashed[0].traceback
    return outcome, collector.states


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


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if "changes" not in case])
def test_what_no_plan_can_mend_gets_none(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my project").mkdir()
    monkeypatch.chdir(tmp_path / "my project")
    assert planned(name, tmp_path)[0] is None

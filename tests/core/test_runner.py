"""The runner: gates by version, hands facts in, survives crashes, orders what it found."""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from doctor.base.evidence import Observed
from doctor.base.fact import world_of
from doctor.catalogue.check import check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, Message, Skip, Where, Words, found
from doctor.catalogue.index import Entry, load, read_entry
from doctor.catalogue.malformed import CatalogueError
from doctor.catalogue.outcome import Skipped
from doctor.catalogue.problem import ERROR, INFO, WARNING, Problem, Severity
from doctor.diagnosis import runner
from doctor.diagnosis.runner import areas_of, facts_needed, in_order_of_importance, run_checks
from doctor.facts.packages import Distribution, Packages

SOURCE = '''"""A made-up problem."""
from __future__ import annotations
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Message, Skip, Words, Where, found
from doctor.catalogue.problem import {severity}, Problem
from doctor.facts.packages import Packages
from doctor.facts.host import Host

PROBLEM = Problem(id="{id}", name="made-up-{lower}", severity={severity}, since="0.1", affects={affects})
MESSAGE = Message(Words("`x` is {{x}}", "It matters.", "Mend it."), Words("`x` 为 {{x}}", "有影响。", "请修复。"))


@check(PROBLEM, requires={requires})
def judge({parameters}) -> Judgement:
    {body}
'''


def entry_of(tmp_path: Path, **values: str) -> Entry:
    values = {
        "severity": "ERROR", "affects": "{}", "requires": "()", "parameters": "packages: Packages",
        "body": "yield found(PROBLEM, MESSAGE, x=1)", "lower": values["id"].lower(), **values,
    }  # fmt: skip
    text = SOURCE.format(**values)
    name = f"made_up_{values['lower']}"
    module = types.ModuleType(name)
    exec(compile(text, name, "exec"), module.__dict__)  # noqa: S102 - our own text
    sys.modules[f"made.up.{name}"] = module
    entry = read_entry(text, f"made.up.{name}", str(tmp_path / name))
    assert entry is not None
    return entry


def installed(**versions: str) -> Observed:
    distributions = {name.replace("_", "-"): Distribution(name, version) for name, version in versions.items()}
    return Observed.seen(Packages(distributions))


def test_four_outcomes_are_kept_apart(tmp_path: Path) -> None:
    entries = [
        entry_of(tmp_path, id="PYT901"),
        entry_of(tmp_path, id="PYT902", body="yield Skip('not reported')"),
        entry_of(tmp_path, id="PYT903", body="raise KeyError('ours')"),
        entry_of(tmp_path, id="PYT904", body="yield from ()"),
    ]
    outcome = run_checks(entries, world_of({"packages": installed()}))
    assert [each.problem.id for each in outcome.findings] == ["PYT901"]
    assert [(each.id, each.reason) for each in outcome.skipped] == [("PYT902", "not reported")]
    assert [each.id for each in outcome.crashed] == ["PYT903"]
    assert "KeyError: 'ours'" in outcome.crashed[0].traceback
    assert outcome.checks_run == 3
    assert outcome.exit_code(strict=False) == 1


def test_missing_fact_skips_with_its_reason_and_optional_one_is_none(tmp_path: Path) -> None:
    needed = entry_of(tmp_path, id="HST901", parameters="host: Host")
    optional = entry_of(
        tmp_path, id="HST902", parameters="host: Host | None", body="yield found(PROBLEM, MESSAGE, x=host)"
    )
    states = {"host": Observed.unseen("`host` did not answer within 3 s", late=True)}
    outcome = run_checks([needed, optional], world_of(states))
    assert [(each.id, each.reason) for each in outcome.skipped] == [("HST901", "`host` did not answer within 3 s")]
    assert outcome.findings[0].words().headline == "`x` is None"
    assert facts_needed([needed]) == {"host"}


@pytest.mark.parametrize(
    ("state", "found", "skipped"),
    [
        (installed(vllm="0.8.5.post1"), 1, ""),
        (installed(vllm="0.8.5+cu124"), 1, ""),
        (installed(vllm="0.9.0"), 0, ""),
        (installed(), 0, ""),
        (Observed.seen(Packages(complete=False)), 0, "the installed version of `vllm` is not known"),
        (Observed.seen(Packages({"vllm": Distribution("vllm", None)})), 0, "version of `vllm` is not known"),
        (Observed.unseen("no interpreter"), 0, "no interpreter"),
    ],
)
def test_versions_gate_checks(tmp_path: Path, state: Observed, found: int, skipped: str) -> None:
    entry = entry_of(tmp_path, id="VLL901", affects='{"vllm": ">=0.8.5,<0.9"}')
    outcome = run_checks([entry], world_of({"packages": state}))
    assert len(outcome.findings) == found
    assert (skipped in outcome.skipped[0].reason) if skipped else not outcome.skipped


def test_prerequisite_makes_dependents_moot(tmp_path: Path) -> None:
    first = entry_of(tmp_path, id="GPU902", requires="('GPU903',)")
    second = entry_of(tmp_path, id="GPU903")
    outcome = run_checks([first, second], world_of({"packages": installed()}))
    assert [each.problem.id for each in outcome.findings] == ["GPU903"]
    assert outcome.skipped[0].reason == "GPU903 was found"


def test_most_important_first_and_strictness(tmp_path: Path) -> None:
    entries = [
        entry_of(tmp_path, id="PYT905", severity="INFO"),
        entry_of(tmp_path, id="PYT906", severity="WARNING"),
        entry_of(tmp_path, id="PYT907", severity="ERROR"),
    ]
    outcome = run_checks(entries, world_of({"packages": installed()}))
    assert [each.severity for each in outcome.findings] == [ERROR, WARNING, INFO]
    warned = run_checks(entries[:2], world_of({"packages": installed()}))
    assert (warned.exit_code(strict=False), warned.exit_code(strict=True)) == (0, 1)


def _said(id_: str = "DSP902", severity: Severity = WARNING, **more: Any) -> Finding:
    message = Message(Words("It is made up", "It matters.", "Mend it."))
    where = Where(**{name: more.pop(name) for name in ("file", "line", "gpu") if name in more})
    problem = Problem(id_, "made-up", severity, "0.1", ends_run=more.pop("ends_run", True))
    return found(problem, message, where=where, **more)


#: of each two the first comes first, though all that is compared later speaks for the second
_IMPORTANT = (
    (_said(foremost=True, severity=INFO), _said(severity=ERROR)),
    (_said("PRF902", severity=ERROR), _said("LCH902", severity=WARNING)),
    (_said("LCH902", confidence=LIKELY), _said("DSP901")),
    (_said("DSP902", confidence=CONFIRMED), _said("DSP901", confidence=LIKELY)),
    (_said("DSP901", file="b"), _said("DSP902", file="a")),
    (_said("DSP902"), _said("DSP902", file="a")),
    (_said(file="a", line=2), _said(file="b", line=1)),
    (_said(file="a"), _said(file="a", line=1)),
    (_said(file="a", line=9, gpu=1), _said(file="a", line=10, gpu=0)),
    (_said(gpu=0), _said(gpu=1)),
    (_said(), _said(gpu=0)),
)


@pytest.mark.parametrize(("first", "second"), _IMPORTANT)
def test_each_key_of_the_order_counts_before_those_behind_it(first: Finding, second: Finding) -> None:
    assert in_order_of_importance([second, first], {}) == (first, second)
    assert in_order_of_importance([first, second], {}) == (first, second)


def test_what_a_problem_says_of_when_it_bites_counts_for_the_order() -> None:
    late, early = _said("DSP901"), _said("DSP902")
    assert in_order_of_importance([late, early], {"DSP901": "speed"}) == (early, late)
    slow = _said("HST901", ends_run=False)
    assert in_order_of_importance([slow, _said("HST902")], {}) == (_said("HST902"), slow)


def test_the_facts_that_problems_need(tmp_path: Path) -> None:
    plain = entry_of(tmp_path, id="HST905", parameters="host: Host, gpus: Gpus | None")
    ranged = entry_of(tmp_path, id="HST906", parameters="host: Host", affects="{'torch': '>=2'}")
    assert facts_needed([plain]) == {"host", "gpus"}
    assert facts_needed([plain, ranged]) == {"host", "gpus", "packages"}
    assert facts_needed([]) == set()


def test_an_area_counts_what_judged_and_each_problem_that_could_not() -> None:
    blind = [
        Skipped("GPU901", "no driver"), Skipped("GPU901", "nor this"), Skipped("GPU902", "ignored", ignored=True),
        Skipped("TRL901", "no script"), Skipped("XYZ901", "of another house"),
    ]  # fmt: skip
    assert areas_of({"gpu": 3, "nccl": 0}, blind) == {"gpu": (3, 1), "trl": (0, 1), "unknown": (0, 1)}
    assert areas_of({}, []) == {}


def test_only_crashes_is_our_failure(tmp_path: Path) -> None:
    outcome = run_checks(
        [entry_of(tmp_path, id="PYT908", body="raise ValueError")], world_of({"packages": installed()})
    )
    assert outcome.exit_code(strict=False) == 3


def test_declaration_that_is_no_literal_is_refused() -> None:
    with pytest.raises(CatalogueError, match=r"here.py:1: `id` of PROBLEM must be a literal"):
        read_entry("PROBLEM = Problem(id=X, name='a', severity=ERROR, since='0.1')", "a.b", "here.py")
    with pytest.raises(CatalogueError, match="lacks since"):
        read_entry("PROBLEM = Problem(id='VLL001', name='a', severity=ERROR)", "a.b", "here.py")


def test_index_is_kept_and_rebuilt_when_a_file_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    root = tmp_path / "problems"
    (root / "python").mkdir(parents=True)
    path = root / "python" / "one.py"
    path.write_text("PROBLEM = Problem(id='PYT001', name='one', severity=ERROR, since='0.1')")
    assert [entry.id for entry in load({"extra": root})] == ["PYT001"]
    assert len(list((tmp_path / "cache" / "grpo-doctor").glob("index-*.json"))) == 1
    path.write_text("PROBLEM = Problem(id='PYT002', name='one', severity=ERROR, since='0.1')")
    assert [entry.id for entry in load({"extra": root})] == ["PYT002"]
    assert load({"extra": root})[0].module == "extra.python.one"


@pytest.mark.parametrize("days_old", [True, False])
def test_old_catalogues_are_taken_out_of_the_cache(
    days_old: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    root, kept = tmp_path / "problems", tmp_path / "cache" / "grpo-doctor"
    (root / "python").mkdir(parents=True)
    kept.mkdir(parents=True)
    (kept / "other.json").write_text("{}")
    for number in range(12):
        text = f"PROBLEM = Problem(id='PYT{number:03d}', name='one', severity=ERROR, since='0.{number}')"
        (root / "python" / "one.py").write_text(text + " " * number)
        assert [entry.id for entry in load({"extra": root})] == [f"PYT{number:03d}"]
        newest = max(kept.glob("index-*.json"), key=lambda each: each.stat().st_mtime_ns)
        for each in (path for path in kept.iterdir() if days_old and path != newest):
            os.utime(each, (each.stat().st_mtime - 90_000,) * 2)
    left = 6 if days_old else 12  # what is young may be in use
    assert len(list(kept.glob("index-*.json"))) == len(list(kept.glob("words-*.jsonl"))) == left
    assert newest.exists()
    assert (kept / "other.json").exists()


def test_a_skip_is_no_finding_and_check_keeps_its_function() -> None:
    @check(Problem("PYT910", "kept", ERROR, "0.1"))
    def judge(packages: Packages) -> Iterator[Finding | Skip]:
        yield Skip(f"{packages.source} says nothing")

    assert [each.reason for each in judge(Packages()) if isinstance(each, Skip)] == ["probe says nothing"]


def test_what_does_not_apply_is_silent_and_not_a_blind_spot(tmp_path: Path) -> None:
    entry = entry_of(tmp_path, id="HST903", parameters="host: Host")
    outcome = run_checks([entry], world_of({"host": Observed.unseen("there is no host", applies=False)}))
    assert not outcome.findings
    assert not outcome.skipped
    assert outcome.checks_run == 0


def test_a_general_finding_is_left_out_beside_one_about_the_same_setting(tmp_path: Path) -> None:
    quoted = "Observed.quoted('launch command', '--a 1')"
    body = f"from doctor.base.evidence import Observed; yield found(PROBLEM, MESSAGE, x=1, evidence=({quoted},))"
    general = entry_of(tmp_path, id="LCH9901", severity="ERROR", body=body)
    own, other = (
        entry_of(tmp_path, id=name, severity="ERROR", body=body.replace("--a 1", word))
        for name, word in (("LCH9902", "--a 1"), ("LCH9903", "--b 1"))
    )
    ids = []
    for beside in (own, other):
        run = runner.RunState()
        for entry in (general, beside):
            runner.judge_entry(run, entry, world_of({"packages": installed(trl="1.0.0")}))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(runner, "_GENERAL", frozenset({"LCH9901"}))
            runner._drop_repeated(run)
        ids.append([each.problem.id for each in run.findings])
    assert ids == [["LCH9902"], ["LCH9901", "LCH9903"]]
